package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"assetferry/sources/local"
)

// BenchmarkListing lists 10,000 files, or ASSETFERRY_BENCH_FILES files, in one directory and in
// directories of 500. It reports the largest heap during the listing. The baseline only reads the
// names of the one directory, sorts them and calls Lstat for each.
func BenchmarkListing(b *testing.B) {
	n := 10_000
	if s := os.Getenv("ASSETFERRY_BENCH_FILES"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		must(b, err)
	}
	one, many := filepath.Join(b.TempDir(), "one"), filepath.Join(b.TempDir(), "many")
	for i := range n {
		name := fmt.Sprintf("photo-%08d.jpg", i)
		create(b, filepath.Join(one, name))
		create(b, filepath.Join(many, fmt.Sprintf("album-%06d", i/500), name))
	}
	b.Run("one-directory", func(b *testing.B) { benchmark(b, n, listTree(b, one)) })
	b.Run("many-directories", func(b *testing.B) { benchmark(b, n, listTree(b, many)) })
	b.Run("baseline", func(b *testing.B) { benchmark(b, n, lookAtAll(one)) })
}

func create(b *testing.B, path string) {
	b.Helper()
	f, err := os.Create(path)
	if errors.Is(err, os.ErrNotExist) {
		must(b, os.MkdirAll(filepath.Dir(path), 0o755))
		f, err = os.Create(path)
	}
	must(b, err)
	must(b, f.Close())
}

// benchmark measures a listing of n files that calls found for each.
func benchmark(b *testing.B, n int, list func(found func()) error) {
	b.ReportAllocs()
	var peak uint64
	for b.Loop() {
		count := 0
		must(b, list(func() {
			if count++; count%(n/10) == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}))
		if count != n {
			b.Fatalf("%d files, want %d", count, n)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
	b.ReportMetric(float64(peak)/(1<<20), "MB-heap")
}

func listTree(b *testing.B, dir string) func(found func()) error {
	src, err := local.New(dir, local.Options{})
	must(b, err)
	return func(found func()) error {
		for _, err := range src.Objects(b.Context(), "") {
			if err != nil {
				return err
			}
			found()
		}
		return nil
	}
}

func lookAtAll(dir string) func(found func()) error {
	return func(found func()) error {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		names, err := f.Readdirnames(-1)
		slices.Sort(names)
		for _, name := range names {
			if _, err := os.Lstat(dir + "/" + name); err != nil {
				return err
			}
			found()
		}
		return errors.Join(err, f.Close())
	}
}
