// Package hostiletest gives answers that are made to exhaust the memory of whoever reads them,
// and measures how much of it that takes.
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

// Most is how much memory over idle an answer may have in use, in bytes, with what the collector
// has not got to where it is always at work, see Peak. 32 MB are promised, of which about half
// are in use and half wait for a collector that comes as late as it usually does.
const Most = 24 << 20

// size is how much of an answer there is, if anybody reads all of it.
var size = longtest.Fewer(512<<20, 64<<20)

// Repeat is a handler that gives a beginning, and then one text again and again.
func Repeat(begin, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		write(w, begin, again)
	}
}

// Fitting is Repeat with an end, and as long as a meter for such an answer lets through: as one
// value of so many bytes, or as a list that is read item by item if whole is 0.
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

// Peak runs f and gives how much more memory the heap had at the most than before, in bytes,
// with the collector always at work: how late it comes otherwise hangs on how busy the machine
// is. What the test itself does meanwhile counts, too.
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

// heap is the memory of objects, be they in use or not collected yet.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
