package ratelimit

import (
	"context"
	"io"
	"sync"
	"time"

	"assetferry/internal/retry"
)

const (
	// grants is into how many pieces the bytes of a second are cut: many readers at
	// a low rate each get one every few seconds.
	grants   = 64
	maxGrant = 64 << 10
	// slack is what timers may be late, all in all, before bytes are lost by it.
	slack = 100 * time.Millisecond
)

// A Bandwidth bounds the bytes a second of all that is read through it. A nil
// Bandwidth bounds nothing.
type Bandwidth struct {
	table Timetable
	now   func() time.Time

	mu   sync.Mutex
	next time.Time // when the next piece may go
}

// NewBandwidth makes a limit, nil if there is none at any time.
func NewBandwidth(t Timetable, now func() time.Time) *Bandwidth {
	for _, s := range t {
		if s.Bytes > 0 {
			return &Bandwidth{table: t, now: now}
		}
	}
	return nil
}

// Reader reads through the limit. Waiting ends with the context.
func (b *Bandwidth) Reader(ctx context.Context, r io.ReadCloser) io.ReadCloser {
	if b == nil {
		return r
	}
	return &limited{r, retry.WithDrain(ctx, nil), b} // what has begun is finished
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

// take books bytes at the limit by which they were measured out, and gives how long
// whoever has them must wait.
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
