package ratelimit

import (
	"context"
	"io"
	"sync"
	"time"

	"assetferry/internal/retry"
)

const (
	// grants is the number of pieces into which the bytes of a second are divided, so that
	// many readers at a low rate each get a piece every few seconds.
	grants   = 64
	maxGrant = 64 << 10
	// slack is the maximum total delay of timers that is compensated. Longer delays reduce the
	// bandwidth.
	slack = 100 * time.Millisecond
)

// A Bandwidth limits the bytes per second that all its readers read together. A nil
// Bandwidth has no limit.
type Bandwidth struct {
	table Timetable
	now   func() time.Time

	mu   sync.Mutex
	next time.Time // the time of the next piece
}

// NewBandwidth returns a limit, or nil if the timetable has none at any time.
func NewBandwidth(t Timetable, now func() time.Time) *Bandwidth {
	for _, s := range t {
		if s.Bytes > 0 {
			return &Bandwidth{table: t, now: now}
		}
	}
	return nil
}

// Reader returns a reader within the limit. Its waits end with the context.
func (b *Bandwidth) Reader(ctx context.Context, r io.ReadCloser) io.ReadCloser {
	if b == nil {
		return r
	}
	return &limited{r, retry.WithDrain(ctx, nil), b} // a request in progress is completed
}

type limited struct {
	io.ReadCloser
	ctx  context.Context
	band *Bandwidth
}

func (r *limited) Read(p []byte) (int, error) {
	limit := r.band.table.at(r.band.now())
	if limit == 0 {
		return r.ReadCloser.Read(p)
	}
	n, err := r.ReadCloser.Read(p[:min(len(p), max(1, int(min(limit/grants, maxGrant))))])
	if n == 0 {
		return 0, err
	}
	if err := retry.Sleep(r.ctx, r.band.take(n, limit)); err != nil {
		return 0, err
	}
	return n, err
}

// take counts bytes at the limit of their read, and returns how long their reader must wait.
func (b *Bandwidth) take(n int, limit float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if earliest := now.Add(-slack); b.next.Before(earliest) {
		b.next = earliest
	}
	b.next = b.next.Add(time.Duration(float64(n) / limit * float64(time.Second)))
	return b.next.Sub(now)
}
