package pace

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
	recheck  = time.Minute // the timetable may say something else by then
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
	if limit := r.band.table.at(r.band.now()); limit > 0 && len(p) > 0 {
		p = p[:min(len(p), max(1, int(limit/grants)), maxGrant)]
	}
	n, err := r.ReadCloser.Read(p)
	for wait := r.band.take(n); wait > 0; wait = r.band.left(wait) {
		if err := retry.Sleep(r.ctx, min(wait, recheck)); err != nil {
			return 0, err
		}
	}
	return n, err
}

// take books bytes and gives how long whoever has them must wait.
func (b *Bandwidth) take(n int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	limit := b.table.at(now)
	if limit == 0 || n == 0 {
		b.next = now
		return 0
	}
	if b.next.Before(now) {
		b.next = now
	}
	b.next = b.next.Add(time.Duration(float64(n) / limit * float64(time.Second)))
	return b.next.Sub(now)
}

// left is how long to wait yet after some of it.
func (b *Bandwidth) left(wait time.Duration) time.Duration {
	if b.table.at(b.now()) == 0 {
		return 0
	}
	return wait - min(wait, recheck)
}
