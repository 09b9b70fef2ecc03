package assets

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkUpload compares an upload with plain net/http for the same content.
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
				// The type hides the concrete reader from net/http, as for a file.
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

// BenchmarkList decodes a page of assets in the format of the service.
func BenchmarkList(b *testing.B) {
	var page bytes.Buffer
	page.WriteString(`{"items":[`)
	for n := range 50 {
		if n > 0 {
			page.WriteByte(',')
		}
		fmt.Fprintf(&page, `{"id":"asset-%d","name":"photo, of %d","extension":"jpg","size":20480,"mimeType":"image/jpeg","categoryId":"c","uploadedAt":"2024-05-01T12:00:00Z",`+
			`"lastModifiedAt":"2024-05-01T12:00:00Z","tags":["a","b"],"url":"https://cdn.example/w/assets/asset-%d/file","imageUrls":{"80":"https://cdn.example/w/assets/asset-%d/images/80.webp","default":"https://cdn.example/w/assets/asset-%d/images/80.png"},`+
			`"metadata":{"description":"a photo","customAttributes":{"source":"x","rating":5},"width":4000,"height":3000,"metadataProcessingStatus":"success"}}`, n, n, n, n, n)
	}
	page.WriteString(`],"totalCount":50,"offset":0,"limit":50}`)
	c := newClient(b, Options{BaseURL: "http://localhost", Transport: &parrot{200, nil, page.String()}})
	b.SetBytes(int64(page.Len()))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range c.List(b.Context(), ListOptions{CategoryID: "c"}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkListPage reads a page of which few assets are wanted.
func BenchmarkListPage(b *testing.B) {
	var page bytes.Buffer
	page.WriteString(`{"items":[`)
	for n := range 500 {
		if n > 0 {
			page.WriteByte(',')
		}
		fmt.Fprintf(&page, `{"id":"asset-%d","name":"photo-%d","extension":"jpg","size":20480,"mimeType":"image/jpeg","categoryId":"c","uploadedAt":"2024-05-01T12:00:00Z",`+
			`"lastModifiedAt":"2024-05-01T12:00:00Z","tags":[],"url":"https://cdn.example/w/assets/asset-%d/file","imageUrls":{},"metadata":{"metadataProcessingStatus":"success"}}`, n, n, n)
	}
	page.WriteString(`],"totalCount":500,"offset":0,"limit":500}`)
	c := newClient(b, Options{BaseURL: "http://localhost", Transport: &parrot{200, nil, page.String()}})
	b.SetBytes(int64(page.Len()))
	b.ReportAllocs()
	for b.Loop() {
		got, err := c.ListPage(b.Context(), ListOptions{CategoryID: "c", PageSize: 500}, 0, func(id []byte) bool { return id[len(id)-1] == '7' && id[len(id)-2] == '7' })
		if err != nil || len(got.Assets) != 5 {
			b.Fatal(len(got.Assets), err)
		}
	}
}
