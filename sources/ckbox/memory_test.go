package ckbox_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/sources/ckbox"
)

// A crowd is a service with one category of many assets.
type crowd struct {
	ckbox.Service
	n int
}

func (c crowd) Categories(context.Context) iter.Seq2[assets.Category, error] {
	return func(yield func(assets.Category, error) bool) { yield(assets.Category{ID: "c", Name: "Images"}, nil) }
}

func (c crowd) Folders(context.Context) ([]assets.Folder, error) { return nil, nil }

func (c crowd) List(context.Context, assets.ListOptions) iter.Seq2[assets.Asset, error] {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func(yield func(assets.Asset, error) bool) {
		for i := range c.n {
			a := assets.Asset{ID: fmt.Sprintf("%012d", i), Name: fmt.Sprintf("photo-%08d", i*7919%c.n), Extension: "jpg", Size: int64(i),
				MIMEType: "image/jpeg", UploadedAt: at.Add(time.Duration(i) * time.Second), URL: fmt.Sprintf("https://delivery.example.com/%d/file", i)}
			if !yield(a, nil) {
				return
			}
		}
	}
}

// BenchmarkListing lists a category of 100,000 assets, or of ASSETFERRY_BENCH_ASSETS assets, and
// reports the largest heap during the listing.
func BenchmarkListing(b *testing.B) {
	n := 100_000
	if s := os.Getenv("ASSETFERRY_BENCH_ASSETS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		must(b, err)
	}
	s := ckbox.New(crowd{n: n}, ckbox.Options{})
	b.ReportAllocs()
	var peak uint64
	for b.Loop() {
		count := 0
		for _, err := range s.Objects(b.Context(), "") {
			must(b, err)
			if count++; count%(n/10) == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
		if count != n {
			b.Fatalf("%d of %d were listed", count, n)
		}
	}
	b.ReportMetric(float64(peak)/float64(n), "heap-B/object")
	b.ReportMetric(float64(peak)/1e6, "heap-MB")
}
