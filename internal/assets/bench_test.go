package assets

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// BenchmarkUpload compares an upload with what net/http alone costs for the same
// bytes.
func BenchmarkUpload(b *testing.B) {
	for name, size := range map[string]int{"20KiB": 20 << 10, "8MiB": 8 << 20} {
		data := make([]byte, size)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"id":"x","name":"photo","extension":"jpg","size":20480,"uploadedAt":"2024-05-01T12:00:00Z","url":"https://cdn/w/assets/x/file"}`)
		}))
		b.Cleanup(srv.Close)
		b.Run("client/"+name, func(b *testing.B) {
			c := newClient(b, Options{BaseURL: srv.URL})
			u := upload(int64(size))
			u.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Upload(b.Context(), u); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("bare/"+name, func(b *testing.B) {
			c := &http.Client{Transport: NewTransport(nil)}
			b.Cleanup(c.CloseIdleConnections)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				// Like a file, a reader that net/http does not see through.
				req, err := http.NewRequest(http.MethodPost, srv.URL+"/assets", struct{ io.Reader }{bytes.NewReader(data)})
				if err != nil {
					b.Fatal(err)
				}
				req.ContentLength = int64(len(data))
				resp, err := c.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
}

// The answer may come before the transport has asked for what comes after the end of
// the body. That must not cost the connection.
func TestUploadsUseOneConnection(t *testing.T) {
	var dialed atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"id":"x"}`)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			dialed.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL})
	for range 2000 {
		if _, err := c.Upload(t.Context(), upload(20<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if n := dialed.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
