package assets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// resolver returns a transport that resolves names as given. It uses the dialer of the product.
func resolver(t *testing.T, leads map[string]string) *http.Transport {
	t.Helper()
	transport := NewTransport(nil)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, is := leads[addr]; is {
			addr = to
		}
		return dial(ctx, network, addr)
	}
	return transport
}

// publicClient returns a client of the service h at http://service.example, which the client
// considers a public address.
func publicClient(t *testing.T, h http.HandlerFunc, leads map[string]string, change ...func(*Options)) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	if leads == nil {
		leads = map[string]string{}
	}
	leads["service.example:80"] = srv.Listener.Addr().String()
	o := Options{BaseURL: "http://service.example", AllowHTTP: true, Transport: resolver(t, leads)}
	for _, c := range change {
		c(&o)
	}
	c := newClient(t, o)
	c.delivery.home.where.Store(publicHome)
	return c
}

// fetches returns all ways in which a client follows a URL in an answer.
func fetches(t *testing.T, c *Client) map[string]func(string) error {
	return map[string]func(string) error{
		"download": func(u string) error { _, _, err := read(t, c, u, 0); return err },
		"public":   func(u string) error { _, err := c.Public(t.Context(), u); return err },
		"ask": func(u string) error {
			_, err := c.Ask(t.Context(), Question{Op: "ask", Method: http.MethodGet, URL: u})
			return err
		},
		"image": func(u string) error {
			body, _, err := c.Image(t.Context(), Asset{URL: u + "/file"}, Rendition{Width: 100})
			if err == nil {
				body.Close()
			}
			return err
		},
	}
}

// The test verifies that a hostile service cannot make the client contact this machine or a private
// network through file URLs, unless the service itself is there.
func TestURLsThatLeadIntoPrivateNetworks(t *testing.T) {
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); fmt.Fprint(w, "inside") }))
	t.Cleanup(inside.Close)
	port := inside.Listener.Addr().(*net.TCPAddr).Port
	at := func(host string) string { return fmt.Sprintf("http://%s:%d/x", host, port) }
	leads := map[string]string{ // Names of the attacker, which are resolved when the connection is made.
		fmt.Sprintf("inside.example:%d", port): inside.Listener.Addr().String(),
		fmt.Sprintf("mapped.example:%d", port): fmt.Sprintf("[::ffff:127.0.0.1]:%d", port),
		fmt.Sprintf("lan.example:%d", port):    fmt.Sprintf("10.1.2.3:%d", port),
		fmt.Sprintf("cgnat.example:%d", port):  fmt.Sprintf("100.64.1.2:%d", port),
		fmt.Sprintf("cloud.example:%d", port):  fmt.Sprintf("169.254.169.254:%d", port),
		fmt.Sprintf("any.example:%d", port):    fmt.Sprintf("0.0.0.0:%d", port),
		fmt.Sprintf("many.example:%d", port):   fmt.Sprintf("224.0.0.1:%d", port),
	}
	var target atomic.Pointer[string]
	c := publicClient(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, *target.Load(), http.StatusFound)
	}, leads)
	for host := range strings.FieldsSeq("127.0.0.1 localhost a.localhost [::1] [::ffff:127.0.0.1] 0.0.0.0 10.0.0.1 100.64.0.1 169.254.169.254 " +
		"inside.example mapped.example lan.example cgnat.example cloud.example any.example many.example") {
		for way, fetch := range fetches(t, c) {
			err := fetch(at(host))
			class, _ := retry.Classify(err)
			if !errors.Is(err, ErrRefused) || class != retry.Permanent {
				t.Errorf("%s %s: got %v, class %s", way, host, err, class)
			}
			if hint := hintOf(err); hint == "" {
				t.Errorf("%s %s: no hint with %v", way, host, err)
			}
		}
		// A redirect by the service itself leads to the same host.
		to := at(host)
		target.Store(&to)
		if _, _, err := read(t, c, "http://service.example/f", 0); !errors.Is(err, ErrRefused) {
			t.Errorf("redirect to %s: got %v", host, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	_, _, err := read(t, c, at("inside.example"), 0)
	want := fmt.Sprintf("download http://inside.example:%d/x: refused: leads to 127.0.0.1, in a private network", port)
	if err == nil || err.Error() != want || !strings.Contains(hintOf(err), "--allow-private-networks") {
		t.Errorf("got %v, hint %q, want %s", err, hintOf(err), want)
	}
}

func hintOf(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	return e.Hint()
}

func TestPrivateNetworksByFlagAndByBaseURL(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") }))
	t.Cleanup(inside.Close)
	service := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":"x"}`) }

	allowed := publicClient(t, service, nil, func(o *Options) { o.AllowPrivateNetworks = true })
	if got, _, err := read(t, allowed, inside.URL, 0); err != nil || string(got) != "inside" {
		t.Errorf("with the flag: got %q, %v", got, err)
	}
	for _, rawURL := range []string{"http://169.254.169.254/latest", "http://0.0.0.0/x"} {
		if _, _, err := read(t, allowed, rawURL, 0); !errors.Is(err, ErrRefused) {
			t.Errorf("%s, with the flag: got %v", rawURL, err)
		}
	}

	// The service has a name that resolves to this machine.
	c := publicClient(t, service, nil)
	c.delivery.home.where.Store(unknownHome)
	if _, _, err := read(t, c, inside.URL, 0); !errors.Is(err, ErrRefused) {
		t.Errorf("before the service was reached: got %v", err)
	}
	if _, err := c.Asset(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := read(t, c, inside.URL, 0); err != nil || string(got) != "inside" {
		t.Errorf("after the service was reached: got %q, %v", got, err)
	}
}

// The test verifies that files at the base URL are downloaded, wherever it leads.
func TestFilesAtTheBaseURL(t *testing.T) {
	c := publicClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "http://service.example/f", http.StatusFound)
		}
	}, nil)
	for _, path := range []string{"/f", "/moved"} {
		for way, fetch := range fetches(t, c) {
			if err := fetch("http://service.example" + path); err != nil {
				t.Errorf("%s %s: %v", way, path, err)
			}
		}
	}
	if _, _, err := read(t, c, "http://service.example:81/f", 0); err == nil {
		t.Error("another port of it was asked")
	}
}

// The test verifies that the client decides once where the base URL leads: a later change of DNS to
// a private network has no effect.
func TestBaseURLThatLeadsElsewhereLater(t *testing.T) {
	var h home
	h.begin(&url.URL{Scheme: "https", Host: "service.example"})
	h.learn(remote{addr: &net.TCPAddr{IP: net.IPv4(93, 184, 216, 34), Port: 443}})
	h.learn(remote{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443}})
	if h.isPrivate() {
		t.Error("the second connection counts")
	}
}

// A remote is a connection with a known remote address only.
type remote struct {
	net.Conn
	addr *net.TCPAddr
}

func (r remote) RemoteAddr() net.Addr { return r.addr }

func TestNoPlainHTTPWhereTheServiceIsEncrypted(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(plain.Close)
	srv := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/f", http.StatusFound))
	t.Cleanup(srv.Close)
	for _, allow := range []bool{false, true} {
		c := newClient(t, Options{BaseURL: srv.URL, AllowHTTP: allow, Transport: srv.Client().Transport})
		for _, rawURL := range []string{plain.URL + "/f", srv.URL + "/f"} {
			for way, fetch := range fetches(t, c) {
				if way == "ask" && rawURL == srv.URL+"/f" {
					continue // this call follows no redirects
				}
				if err := fetch(rawURL); !errors.Is(err, ErrRefused) || !errors.Is(err, outbound.ErrDowngrade) || !strings.Contains(hintOf(err), "https://") {
					t.Errorf("%s %s: got %v, hint %q", way, rawURL, err, hintOf(err))
				}
			}
		}
	}
}

// The test verifies that redirects send no Referer, because the URL of a private file may contain a
// secret.
func TestNoRefererAfterARedirect(t *testing.T) {
	var referers []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		referers = append(referers, r.Header.Get("Referer"))
		if r.URL.Path == "/f" {
			http.Redirect(w, r, "/g", http.StatusFound)
		}
	})
	if _, _, err := read(t, c, c.base.String()+"/f?signature=hush", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Public(t.Context(), c.base.String()+"/f?signature=hush"); err != nil {
		t.Fatal(err)
	}
	if len(referers) < 4 || strings.Join(referers, "") != "" {
		t.Errorf("got %q", referers)
	}
}
