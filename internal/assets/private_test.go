package assets

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAuthorizePrivateAccess(t *testing.T) {
	for answer, want := range map[string]string{
		"204 Set-Cookie=CKBox-Auth=x; Path=/|":                  "CKBox-Auth",
		"200 Set-Cookie=__Host-CKBox-Auth=x; Path=/; Secure|{}": "__Host-CKBox-Auth",
		"204 Set-Cookie=other=x|":                               "",
		"204 Set-Cookie=CKBox-Auth=; Max-Age=0|":                "",
		"204":                                                   "",
		`403 {"message":"No.","statusCode":403,"data":null}`:    "",
		`200 {"message":"No.","statusCode":401,"data":null}`:    "",
	} {
		a := answers(answer)
		cookie, err := serve(t, a.ServeHTTP).AuthorizePrivateAccess(t.Context())
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: got %v and no error", answer, cookie)
		case want != "" && (err != nil || cookie.Name != want || cookie.Value != "x"):
			t.Errorf("%s: got %v, %v", answer, cookie, err)
		}
		if r := a.got[0]; r.Method != "POST" || r.URL.Path != "/categories/authorizePrivateAccess" ||
			!strings.Contains(a.bodies[0], "name=\"token\"\r\n\r\n"+r.Header.Get("Authorization")+"\r\n--") {
			t.Errorf("sent %s %s %q", r.Method, r.URL, a.bodies[0])
		}
	}
}

// A vault returns the cookie, and delivers its files only with it.
type vault struct {
	cookie     string // value of the Set-Cookie header
	authorized atomic.Int64
	seen       atomic.Pointer[http.Header] // headers of the last request for a file
}

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == accessRoute {
		v.authorized.Add(1)
		w.Header().Set("Set-Cookie", v.cookie)
		return
	}
	h := r.Header.Clone()
	v.seen.Store(&h)
	if c, err := r.Cookie("CKBox-Auth"); err != nil || c.Value != "open" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_, _ = w.Write([]byte("secret"))
}

// TestDownloadPrivate verifies that the cookie is requested once, also by a read-only client, and
// is sent to any port of the host of the service, as the rules of cookies say.
func TestDownloadPrivate(t *testing.T) {
	v := &vault{cookie: "CKBox-Auth=open; Path=/"}
	service, delivery := httptest.NewServer(v), httptest.NewServer(v)
	t.Cleanup(service.Close)
	t.Cleanup(delivery.Close)
	c := newClient(t, Options{BaseURL: service.URL, ReadOnly: true})
	var downloads sync.WaitGroup
	for _, at := range []string{service.URL, delivery.URL} {
		for i := range 4 {
			downloads.Go(func() {
				if got, _, err := read(t, c, fmt.Sprint(at, "/", i), 0); err != nil || string(got) != "secret" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	}
	downloads.Wait()
	if n := v.authorized.Load(); n != 1 {
		t.Errorf("asked for the cookie %d times", n)
	}
	if got, _, err := read(t, c, delivery.URL+"/last", 0); err != nil || string(got) != "secret" || v.seen.Load().Get("Authorization") != "" {
		t.Errorf("got %q, %v, with %v", got, err, v.seen.Load())
	}
}

// TestPrivateElsewhere verifies that the cookie is sent only to its host, and requested only once
// although files are refused.
func TestPrivateElsewhere(t *testing.T) {
	for _, cookie := range []string{"CKBox-Auth=open; Path=/", "CKBox-Auth=open; Path=/; Domain=localhost", "CKBox-Auth=open; Path=/; Secure", "CKBox-Auth=open; Path=/other"} {
		v := &vault{cookie: cookie}
		service := httptest.NewServer(v)
		t.Cleanup(service.Close)
		c := newClient(t, Options{BaseURL: service.URL})
		elsewhere := strings.Replace(service.URL, "127.0.0.1", "localhost", 1)
		for range 2 {
			if _, _, err := read(t, c, elsewhere+"/f", 0); !IsAuth(err) {
				t.Errorf("%s: got %v", cookie, err)
			}
			if h := v.seen.Load(); h.Get("Cookie") != "" || h.Get("Authorization") != "" {
				t.Errorf("%s: sent %v", cookie, h)
			}
		}
		if n := v.authorized.Load(); n != 1 {
			t.Errorf("%s: asked for it %d times", cookie, n)
		}
	}
}

// TestPrivateRedirect verifies that a redirect to another host does not send the cookie.
func TestPrivateRedirect(t *testing.T) {
	v := &vault{cookie: "CKBox-Auth=open; Path=/"}
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("sent %v", r.Header)
		}
		_, _ = w.Write([]byte("secret"))
	}))
	t.Cleanup(store.Close)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("CKBox-Auth"); err == nil && cookie.Value == "open" {
			http.Redirect(w, r, strings.Replace(store.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
			return
		}
		v.ServeHTTP(w, r)
	})
	if got, _, err := read(t, c, c.base.String()+"/f", 0); err != nil || string(got) != "secret" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestPrivateAccessFails verifies that a temporary failure to get the cookie is reported, and
// otherwise the error about the file.
func TestPrivateAccessFails(t *testing.T) {
	for answer, want := range map[string]string{"404": "download", "403": "download", "204": "download", "500": "authorize private access"} {
		a := answers("403", answer)
		c := serve(t, a.ServeHTTP)
		_, _, err := read(t, c, c.base.String()+"/f", 0)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want an error of %q", answer, err, want)
		}
	}
}
