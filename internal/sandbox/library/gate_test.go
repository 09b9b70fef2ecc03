package library_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/sandbox"
)

func newServer(t testing.TB, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestOnlyForThisMachine(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	asset := id(w.upload("a.png", picture(t, 8, 8)))
	for _, c := range []struct {
		name    string
		headers []string
		page    int // expected status
		part    int
	}{
		{"by its address", nil, 200, 200},
		{"localhost", []string{"Host", "localhost"}, 200, 200},
		{"localhost with a port", []string{"Host", "LocalHost:80"}, 200, 200},
		{"IPv6", []string{"Host", "[::1]:80"}, 200, 200},
		{"another loopback address", []string{"Host", "127.8.9.1"}, 200, 200},
		{"a name that was made to lead here", []string{"Host", "rebound.example:80"}, 403, 403},
		{"a name that begins alike", []string{"Host", "localhost.example"}, 403, 403},
		{"a name like an address", []string{"Host", "127.0.0.1.example"}, 403, 403},
		{"any address", []string{"Host", "0.0.0.0"}, 403, 403},
		{"a proxy", []string{"X-Forwarded-For", "192.0.2.1"}, 403, 403},
		{"a proxy of another kind", []string{"Forwarded", "for=192.0.2.1"}, 403, 403},
		{"typed or bookmarked", browser("none", "navigate", "document"), 200, 200},
		{"a link elsewhere", browser("cross-site", "navigate", "document"), 200, 403},
		{"a link of the library", browser("same-origin", "navigate", "document"), 200, 200},
		{"an image of the library", browser("same-origin", "no-cors", "image"), 403, 200},
		{"an image elsewhere", browser("cross-site", "no-cors", "image"), 403, 403},
		{"an image of another port", browser("same-site", "no-cors", "image"), 403, 403},
		{"a frame", browser("same-origin", "navigate", "iframe"), 403, 403},
		{"a script of an uploaded page", browser("same-origin", "cors", "empty"), 403, 403},
		{"a script elsewhere", browser("cross-site", "cors", "empty"), 403, 403},
	} {
		for path, want := range map[string]int{"/": c.page, base + "/assets/" + asset: c.page, base + "/assets/" + asset + "/thumbnail": c.part, base + "/style.css": c.part} {
			a := w.ask(path, c.headers...)
			if a.StatusCode != want {
				t.Errorf("%s: %s answers %d, want %d", c.name, path, a.StatusCode, want)
			}
			if want == 403 && (!strings.Contains(a.body, "person") && !strings.Contains(a.body, "people") || strings.Contains(a.body, "<")) {
				t.Errorf("%s: no plain explanation: %s", c.name, a.body)
			}
		}
	}
}

// browser returns the headers by which a browser describes a request.
func browser(site, mode, dest string) []string {
	return []string{"Sec-Fetch-Site", site, "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest}
}

// elsewhere is a listener that listens on all network addresses.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 80} }

func TestNotForOtherMachines(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	for name, wrap := range map[string]func(net.Listener) net.Listener{
		"loopback":      func(l net.Listener) net.Listener { return l },
		"all addresses": func(l net.Listener) net.Listener { return elsewhere{l} },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- w.sandbox.Serve(ctx, wrap(l)) }()
		there := &world{TB: t, Server: &httptest.Server{URL: "http://" + l.Addr().String()}, secret: w.secret}
		a := there.ask("/")
		if open := a.StatusCode == 200; open != (name == "loopback") {
			t.Errorf("%s: %d", name, a.StatusCode)
		} else if !open && !strings.Contains(a.body, "0.0.0.0:80") {
			t.Errorf("%s: it does not say why: %s", name, a.body)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// The library ignores the configured latency, here an hour.
func TestLatencyLeavesThePageAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sandbox.New(sandbox.Options{Latency: time.Hour, Library: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}

		for path, want := range map[string]time.Duration{s.LibraryURL(""): 0, "/docs": time.Hour} {
			begun := time.Now()
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, at), "GET", path, nil)
			r.Host = "localhost"
			r.Header.Set("Accept", "text/html")
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Errorf("%s: %d", path, w.Code)
			}
			if waited := time.Since(begun); waited != want {
				t.Errorf("%s took %v, want %v", path, waited, want)
			}
		}
	})
}
