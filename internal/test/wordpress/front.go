//go:build wordpress

package wordpress

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A Front is the web server of a site, as nginx would be: it serves files itself and passes the rest
// to PHP. PHP's own server sends files without a date and without ranges.
type Front struct {
	url  string
	root string
	php  *httputil.ReverseProxy

	mu   sync.Mutex
	wrap func(http.Handler) http.Handler
}

func startFront(t testing.TB, root, php string) *Front {
	f := &Front{root: root}
	transport := &http.Transport{DisableKeepAlives: true}
	f.php = &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: php})
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewUnstartedServer(f)
	server.Config.SetKeepAlivesEnabled(false) // tests count goroutines
	server.Start()
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// Wrap puts a handler in front of the site, such as one that refuses requests; nil removes it.
func (f *Front) Wrap(wrap func(site http.Handler) http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrap = wrap
}

func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	wrap := f.wrap
	f.mu.Unlock()
	site := http.Handler(http.HandlerFunc(f.serve))
	if wrap != nil {
		site = wrap(site)
	}
	site.ServeHTTP(w, r)
}

func (f *Front) serve(w http.ResponseWriter, r *http.Request) {
	path := filepath.Join(f.root, filepath.FromSlash(r.URL.Path))
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && !strings.HasSuffix(path, ".php") && strings.HasPrefix(path, f.root+string(filepath.Separator)) {
		http.ServeFile(w, r, path)
		return
	}
	f.php.ServeHTTP(w, r)
}
