package remote

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"assetferry/internal/outbound"
)

// anywhere makes requests to the servers of a test.
func anywhere(t *testing.T, change ...func(*AnywhereOptions)) *Anywhere {
	t.Helper()
	o := AnywhereOptions{AllowPrivate: true}
	for _, c := range change {
		c(&o)
	}
	a := NewAnywhere(o)
	t.Cleanup(a.CloseIdleConnections)
	return a
}

func (a *Anywhere) get(t *testing.T, rawURL string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.Do(r)
	if err == nil {
		answer.Body.Close()
	}
	return err
}

func TestPrivateNetworksAreRefused(t *testing.T) {
	s := newServer(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	a := anywhere(t, func(o *AnywhereOptions) { o.AllowPrivate, o.AllowHTTP = false, true })
	for _, rawURL := range []string{s.String(), "http://localhost:" + s.Port(), "http://LOCALHOST.:" + s.Port(), "http://a.localhost:" + s.Port(), "http://[::ffff:127.0.0.1]:" + s.Port(), "http://0.0.0.0:" + s.Port()} {
		if _, refused := errors.AsType[*outbound.NetworkError](a.get(t, rawURL)); !refused {
			t.Errorf("%s is not refused", rawURL)
		}
	}
	// The IP address is checked after the lookup, whatever the name is.
	r, err := outbound.Guarded(httptest.NewRequest(http.MethodGet, "http://name.example", nil), outbound.Networks{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewTransport(Options{}).DialContext(r.Context(), "tcp", "localhost:"+s.Port())
	if err == nil {
		c.Close()
	}
	if _, refused := errors.AsType[*outbound.NetworkError](err); !refused {
		t.Errorf("a name that leads here: %v", err)
	}
}

func TestRedirectsAreFollowed(t *testing.T) {
	var seen []http.Header
	other := newServer(t, func(w http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Clone()) })
	ours := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, other.String()+"/there", http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/private":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}
	})
	headers, err := ParseHeaders("X-Api-Key: hush-hush\nAuthorization: Bearer quiet-quiet")
	if err != nil {
		t.Fatal(err)
	}
	a := anywhere(t, func(o *AnywhereOptions) { o.Headers, o.Hosts, o.AllowHTTP = headers, []string{ours.Host}, true })
	if err := a.get(t, ours.String()+"/moved?signed=secret"); err != nil {
		t.Fatal(err)
	}
	if seen[0].Get("X-Api-Key") != "hush-hush" || seen[0].Get("Authorization") == "" {
		t.Errorf("the host of the headers got %v", seen[0])
	}
	if seen[1].Get("X-Api-Key") != "" || seen[1].Get("Authorization") != "" || seen[1].Get("Referer") != "" {
		t.Errorf("another host got %v", seen[1])
	}
	if seen = nil; !errors.Is(a.get(t, ours.String()+"/circle"), outbound.ErrRedirects) || len(seen) != maxRedirects+1 {
		t.Errorf("%d requests were sent in a circle", len(seen))
	}
	if _, refused := errors.AsType[*outbound.NetworkError](a.get(t, ours.String()+"/private")); !refused {
		t.Error("a redirect into a private network is followed")
	}
	if err := a.get(t, ours.String()+"/file"); err == nil {
		t.Error("a redirect to a file is followed")
	}
	if got := a.Redact("with quiet-quiet"); got != "with [redacted]" {
		t.Errorf("redacted: %s", got)
	}
}

func TestNoRedirectToPlainHTTP(t *testing.T) {
	plain := newServer(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	s := httptest.NewTLSServer(http.RedirectHandler(plain.String(), http.StatusFound))
	t.Cleanup(s.Close)
	a := anywhere(t, func(o *AnywhereOptions) { o.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig })
	if err := a.get(t, s.URL); !errors.Is(err, outbound.ErrDowngrade) {
		t.Errorf("got %v", err)
	}
}

func TestPlainHTTPAnywhere(t *testing.T) {
	if err := anywhere(t).get(t, "http://source.example.com/a.jpg"); !errors.Is(err, ErrPlain) {
		t.Errorf("got %v", err)
	}
}

func TestHostsOfHeaders(t *testing.T) {
	for hosts, want := range map[string]string{
		"a.example":     "https://a.example/x https://A.example:8443/x http://a.example/x",
		"A.EXAMPLE:443": "https://a.example/x",
		"b.example":     "",
	} {
		a := &hostTransport{options: AnywhereOptions{Hosts: []string{hosts}}}
		var got []string
		for _, rawURL := range []string{"https://a.example/x", "https://A.example:8443/x", "http://a.example/x", "https://a.example.evil/x", "https://xa.example/x"} {
			u, err := url.Parse(rawURL)
			if err != nil {
				t.Fatal(err)
			}
			if a.getsHeaders(u) {
				got = append(got, rawURL)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: told are %q, want %s", hosts, got, want)
		}
	}
}

// TestRedirectWithoutEnd verifies that the body of a redirect is not read to its end.
func TestRedirectWithoutEnd(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" {
			return
		}
		w.Header().Set("Location", "/there")
		w.WriteHeader(http.StatusFound)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.String()+"/f", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := anywhere(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}
