package sandbox_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"assetferry/internal/sandbox"
)

func BenchmarkUploadInMemory(b *testing.B) { benchmarkUpload(b, sandbox.Options{}) }
func BenchmarkUploadToDisk(b *testing.B)   { benchmarkUpload(b, sandbox.Options{Dir: b.TempDir()}) }

// benchmarkUpload uploads small files from 16 parallel clients over loopback. It includes the cost
// of the clients, but not that of checking responses.
func benchmarkUpload(b *testing.B, o sandbox.Options) {
	c := start(b, o)
	category := c.category("Documents")
	body, contentType := form(b, "note.txt", bytes.Repeat([]byte("x"), 2000), "categoryId", category)
	plain := httptest.NewServer(c.server)
	defer plain.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	b.SetParallelism(8)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			r, err := http.NewRequest("POST", plain.URL+"/assets", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Authorization", c.token)
			r.Header.Set("Content-Type", contentType)
			resp, err := transport.RoundTrip(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				b.Errorf("status %d", resp.StatusCode)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "uploads/s")
}
