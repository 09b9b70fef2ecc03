package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"assetferry/sources/local"
)

// BenchmarkOneDirectory lists a single directory of 10,000 files, or of as many
// as ASSETFERRY_BENCH_FILES says, and reports the largest heap it saw meanwhile.
func BenchmarkOneDirectory(b *testing.B) {
	n := 10_000
	if s := os.Getenv("ASSETFERRY_BENCH_FILES"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		must(b, err)
	}
	dir := b.TempDir()
	for i := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("photo-%08d.jpg", i)))
		must(b, err)
		must(b, f.Close())
	}
	src, err := local.New(dir, local.Options{})
	must(b, err)
	var peak uint64
	for b.Loop() {
		count := 0
		for _, err := range src.Objects(b.Context(), "") {
			must(b, err)
			if count++; count%(n/10) == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
		if count != n {
			b.Fatalf("%d objects, want %d", count, n)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
	b.ReportMetric(float64(peak)/(1<<20), "MB-heap")
}
