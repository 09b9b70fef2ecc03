package s3server

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/sources"
	ferry "assetferry/sources/s3"
)

// cutting starts a proxy before the server that breaks each object off after some bytes.
func cutting(t *testing.T, after int64) string {
	t.Helper()
	to, err := url.Parse(gateway.url)
	must(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { // the host stays, because it is signed
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		},
		ModifyResponse: func(r *http.Response) error {
			if !r.Request.URL.Query().Has("list-type") {
				r.Body = &short{r.Body, after}
			}
			return nil
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	front := httptest.NewUnstartedServer(proxy)
	front.Config.ErrorLog = proxy.ErrorLog
	front.Start()
	t.Cleanup(front.Close)
	return front.URL
}

// A short body ends too early.
type short struct {
	io.ReadCloser
	left int64
}

func (s *short) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.ReadCloser.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	return n, err
}

// TestResume verifies that a reader resumes at the position where the connection broke, with the
// listed version and no other. If the server keeps versions, this works even after a newer one is
// stored.
func TestResume(t *testing.T) {
	old, newer := bytes.Repeat([]byte("old "), 1<<20), bytes.Repeat([]byte("new "), 1<<20)
	for name, test := range map[string]struct {
		versions, changes bool
		want              error
	}{
		"unchanged":         {false, false, nil},
		"changed":           {false, true, sources.ErrChanged},
		"versions":          {true, false, nil},
		"versions, changed": {true, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			if test.versions {
				must(t, b.keepVersions(t.Context(), types.BucketVersioningStatusEnabled))
			}
			must(t, b.put(t.Context(), "a", old))
			src := b.source(t, func(o *ferry.Options) { o.Endpoint = cutting(t, 1<<20+1) })
			objects, err := list(t, src)
			must(t, err)
			r, err := src.Open(t.Context(), objects[0], 0)
			must(t, err)
			defer r.Close()
			start := make([]byte, 1000)
			_, err = io.ReadFull(r, start)
			must(t, err)
			if test.changes {
				must(t, b.put(t.Context(), "a", newer))
			}
			rest, err := io.ReadAll(r)
			if !errors.Is(err, test.want) || err == nil && !bytes.Equal(append(start, rest...), old) {
				t.Errorf("%d bytes and %v, want %v", 1000+len(rest), err, test.want)
			}
		})
	}
}
