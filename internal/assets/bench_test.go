package assets

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
