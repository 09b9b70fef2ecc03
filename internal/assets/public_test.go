package assets

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/ratelimit"
)

// TestPublic verifies the results for servers of many kinds, all of which prefer credentials.
func TestPublic(t *testing.T) {
	content := bytes.NewReader(file(1000))
	whole := func(w http.ResponseWriter, r *http.Request) { http.ServeContent(w, r, "", time.Time{}, content) }
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	onlyGet := func(refusal int, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				h(w, r)
			} else {
				w.WriteHeader(refusal)
			}
		}
	}
	endless := func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(file(100))
	}
	empty := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes */0")
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    Public
		asks    string
	}{
		"head":               {whole, Public{200, 1000}, "HEAD"},
		"no head":            {onlyGet(405, whole), Public{206, 1000}, "HEAD GET"},
		"head is forbidden":  {onlyGet(403, whole), Public{206, 1000}, "HEAD GET"},
		"no head of nothing": {onlyGet(501, empty), Public{200, 0}, "HEAD GET"},
		"nobody says":        {endless, Public{200, -1}, "HEAD GET"},
		"whole of it":        {onlyGet(405, endless), Public{200, -1}, "HEAD GET"},
		"gone":               {status(404), Public{404, 0}, "HEAD"},
		"private":            {status(401), Public{401, 0}, "HEAD GET"},
		"broken":             {status(500), Public{500, 0}, "HEAD HEAD HEAD HEAD HEAD"},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/w/assets/1/file" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			} else {
				whole(w, r)
			}
		}, Public{200, 1000}, "HEAD HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			var asks []string
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asks = append(asks, r.Method)
				if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
					t.Errorf("%s with credentials: %v", r.Method, r.Header)
				}
				c.handler(w, r)
			})
			got, err := client.Public(t.Context(), client.base.String()+"/w/assets/1/file")
			if got.Status != c.want.Status || c.want.IsThere() && got.Size != c.want.Size || err != nil {
				t.Errorf("got %+v (%v), want %+v", got, err, c.want)
			}
			if got := strings.Join(asks, " "); got != c.asks {
				t.Errorf("asked by %s, want %s", got, c.asks)
			}
		})
	}
}

// The test verifies that without an answer there is an error, and no result about the URL.
func TestPublicWithoutAnswer(t *testing.T) {
	c := newClient(t, Options{BaseURL: closedURL})
	if got, err := c.Public(t.Context(), closedURL+"/file"); err == nil {
		t.Errorf("got %+v", got)
	}
	for _, url := range []string{"", "/file", "ftp://host/file", "http://example.com/file", "https://%zz/"} {
		if got, err := c.Public(t.Context(), url); err == nil {
			t.Errorf("%s: got %+v", url, got)
		}
	}
}

// The test verifies that requests to a delivery host do not count against the request limit of the
// service.
func TestPublicIsRateLimited(t *testing.T) {
	var asked atomic.Int64
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Length", "5")
	})
	here, elsewhere := httptest.NewServer(answer), httptest.NewServer(answer)
	defer here.Close()
	defer elsewhere.Close()
	requests := ratelimit.NewRequests(ratelimit.RequestLimit{Requests: 1, Window: time.Hour}, time.Now)
	c := newClient(t, Options{BaseURL: here.URL, Limiter: ratelimit.New(ratelimit.Options{Max: 2, Requests: requests})})
	for _, url := range []string{here.URL, elsewhere.URL, elsewhere.URL} {
		if _, err := c.Public(t.Context(), url+"/file"); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Public(t.Context(), here.URL+"/file"); err == nil || asked.Load() != 3 {
		t.Errorf("%d requests (%v), want 3 and an error", asked.Load(), err)
	}
}
