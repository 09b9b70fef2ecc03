package safety

import (
	"context"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// Unconfirmed are obstacles and unreadable objects at the source: each may be a deleted object
// under another key.
type Unconfirmed struct {
	store  *state.Store
	run    state.Run
	oldest time.Time // earlier times do not matter
	sizes  map[int64]bool

	before []state.Run   // the newest first
	page   []sources.Key // of unknown size
	since  time.Time     // each listing since then had all objects of unknown size; zero if there are none
}

// NewUnconfirmed returns an empty Unconfirmed for a run. It will not be used for objects that were
// first missed before oldest.
func NewUnconfirmed(store *state.Store, run state.Run, oldest time.Time) *Unconfirmed {
	return &Unconfirmed{store: store, run: run, oldest: oldest, sizes: map[int64]bool{}}
}

// Has reports whether an object of this size that was first missed at that time may be one of the
// unconfirmed ones. Those that were unreadable before that time are not the moved object.
func (d *Unconfirmed) Has(size int64, missed time.Time) bool {
	return d.sizes[size] || !d.since.IsZero() && !missed.After(d.since)
}

// AddSize adds an object of a known size.
func (d *Unconfirmed) AddSize(size int64) { d.sizes[size] = true }

// AddUnsized adds an entry of unknown size. Has includes it after Flush.
func (d *Unconfirmed) AddUnsized(ctx context.Context, key sources.Key) error {
	if d.page = append(d.page, key); len(d.page) < state.PageSize {
		return nil
	}
	return d.Flush(ctx)
}

// maxRunsRead limits the number of runs to read. No one needs to know about older failures.
const maxRunsRead = 1000

// Flush finds the time since which the entries without a size exist.
func (d *Unconfirmed) Flush(ctx context.Context) (err error) {
	if len(d.page) == 0 {
		return nil
	}
	if d.before == nil {
		if d.before, err = d.store.FinishedBefore(ctx, d.run, maxRunsRead); err != nil {
			return err
		}
	}
	since, err := d.pageSince(ctx)
	if since.After(d.since) {
		d.since = since
	}
	d.page = d.page[:0]
	return err
}

// pageSince returns the time since which each listing has had all of the page. Only finished runs
// count that recorded deletions, because these also stored all other findings.
func (d *Unconfirmed) pageSince(ctx context.Context) (since time.Time, err error) {
	since = d.run.ListedAt
	for _, r := range d.before {
		if since.Before(d.oldest) {
			return since, nil
		}
		rules, err := migrate.ReadRules(r)
		if err != nil {
			return since, err
		}
		if !rules.FollowsDeletions() {
			continue
		}
		if met, err := d.store.MetUnsized(ctx, r.Num, d.page); err != nil || !met {
			return since, err
		}
		since = r.ListedAt
	}
	return since, nil
}
