//go:build rclone

package rclone

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/rclone"
	source "assetferry/sources/rclone"
)

// TestListingSpeed lists folders, and compares with rclone lsf in the same run. The variable
// ASSETFERRY_TEST_LISTED is the number of files, such as 1000000; a few show only that all are listed.
func TestListingSpeed(t *testing.T) {
	count, err := strconv.Atoi(cmp.Or(os.Getenv("ASSETFERRY_TEST_LISTED"), "1000"))
	must(t, err)
	for name, start := range map[string]func(testing.TB, rclone.Program) storage{"local": onDisk, "WebDAV": rememberingWebDAV} {
		for _, kind := range []string{"flat", "tree"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := start(t, newest(t))
				makeFiles(t, s.dir+"/"+kind, count, kind == "tree")
				for _, p := range programs(t) {
					t.Run(p.Version.String(), func(t *testing.T) { speed(t, s, kind, p, count) })
				}
			})
		}
	}
}

func rememberingWebDAV(tb testing.TB, newest rclone.Program) storage {
	return webDAV(tb, newest, remember)
}

// makeFiles creates empty files: in one folder, or a hundred in each.
func makeFiles(tb testing.TB, dir string, count int, tree bool) {
	tb.Helper()
	must(tb, os.MkdirAll(dir, 0o700))
	for n := range count {
		at := dir
		if tree {
			at = fmt.Sprintf("%s/%03d/%03d", dir, n/10_000, n/100%100)
			if n%100 == 0 {
				must(tb, os.MkdirAll(at, 0o700))
			}
		}
		must(tb, os.WriteFile(fmt.Sprintf("%s/image-%07d.jpg", at, n), nil, 0o600))
	}
}

func speed(t *testing.T, s storage, folder string, p rclone.Program, count int) {
	lsf := command(p, "lsf", "-R", "--files-only", "--config", configFile(t, s.config), s.remote(folder))
	var lines counter
	lsf.Stdout = &lines
	begun := time.Now()
	must(t, lsf.Run())
	took := time.Since(begun)
	usage := lsf.ProcessState.SysUsage().(*syscall.Rusage)
	if lines != counter(count) {
		t.Errorf("rclone lsf lists %d files", lines)
	}
	server := startServer(t, p, s.config)
	src, err := source.New(t.Context(), server, s.remote(folder), source.Options{})
	must(t, err)
	stop := watchHeap()
	begun = time.Now()
	got, first := 0, time.Duration(0)
	for _, err := range src.Objects(t.Context(), "") {
		must(t, err)
		if got++; got == 1 {
			first = time.Since(begun)
		}
	}
	ours := time.Since(begun)
	if got != count {
		t.Errorf("listed %d objects, want %d", got, count)
	}
	t.Logf("%d objects: %.2f s (first after %.2f s), %.0f a second; ours has %d MB of heap, rclone %d MB; rclone lsf %.2f s and %d MB: ratio %.2f",
		got, ours.Seconds(), first.Seconds(), float64(got)/ours.Seconds(), stop()>>20, residentPeak(t, server)>>20, took.Seconds(), usage.Maxrss>>10, ours.Seconds()/took.Seconds())
}

// A counter counts lines.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

// watchHeap watches the heap of this rclone. The function that it returns ends this and returns the
// largest size in bytes.
func watchHeap() func() uint64 {
	runtime.GC()
	var (
		most    uint64
		running sync.WaitGroup
		done    = make(chan struct{})
	)
	running.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() uint64 { close(done); running.Wait(); return most }
}

// residentPeak returns the largest memory of the server in bytes.
func residentPeak(tb testing.TB, server *rclone.Server) int64 {
	tb.Helper()
	m, err := server.Memory(tb.Context())
	must(tb, err)
	return m.Peak
}
