// Package hostiletest has responses that try to exhaust the memory of a reader, and measures the
// memory.
package hostiletest

import (
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/test/longtest"
)

// Most is the maximum memory of a response in bytes above idle, measured by Peak. The limit of the
// program is 32 MB, of which the usual garbage is about half.
const Most = 24 << 20

// size is the total size of a response in bytes.
var size = longtest.Fewer(512<<20, 64<<20)

// Repeat returns a handler that sends a beginning, and then repeats a text.
func Repeat(begin, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		write(w, begin, again)
	}
}

// Fitting is Repeat with an end, and with the maximum length that a meter allows: one value of
// whole bytes, or, if whole is 0, a list that is read item by item.
func Fitting(weight outbound.Weight, whole int64, begin, again, end string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		m := outbound.NewMeter(strings.NewReader(begin+end), weight)
		if whole > 0 {
			m = m.Whole(whole)
		}
		_, _ = m.ReadAll()
		m.Next()
		chunk := strings.Repeat(again, 100)
		_, _ = io.WriteString(w, begin)
		for m.Add(chunk) {
			if whole == 0 {
				m.Next()
			}
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, end)
	}
}

// Gzip is Repeat, compressed.
func Gzip(begin, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		write(z, begin, again)
		_ = z.Close()
	}
}

// Events is Repeat as a stream of events.
func Events(begin, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, begin, again)
	}
}

func write(w io.Writer, begin, again string) {
	chunk := strings.Repeat(again, max(1, (32<<10)/len(again)))
	_, err := io.WriteString(w, begin)
	for n := 0; n < size && err == nil; n += len(chunk) {
		_, err = io.WriteString(w, chunk)
	}
}

// Peak runs f and returns the maximum growth of the heap in bytes. The garbage collector runs all
// the time, because its usual delay depends on the load of the machine. Memory of the test itself
// counts, too.
func Peak(t testing.TB, f func()) int64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	runtime.GC()
	idle := heap()
	stop, peak := make(chan struct{}), make(chan int64)
	go func() {
		most := idle
		for {
			select {
			case <-stop:
				peak <- max(most, heap())
				return
			case <-time.After(500 * time.Microsecond):
				most = max(most, heap())
			}
		}
	}()
	f()
	close(stop)
	return <-peak - idle
}

// heap returns the memory of all objects, including garbage.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
