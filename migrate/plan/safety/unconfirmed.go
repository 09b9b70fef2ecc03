package safety

import (
	"context"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// Unconfirmed are what is at the source and cannot be taken for now: any of it may be an object that
// was deleted, under another key.
type Unconfirmed struct {
	store  *state.Store
	run    state.Run
	oldest time.Time // what happened before does not matter
	sizes  map[int64]bool

	before []state.Run   // the newest first
	page   []sources.Key // of unknown size
	since  time.Time     // every listing since then has had all of unknown size; zero if there is nothing
}

// NewUnconfirmed returns no unconfirmed items yet of a run. About what was missed first before a time they are not
// asked.
func NewUnconfirmed(store *state.Store, run state.Run, oldest time.Time) *Unconfirmed {
	return &Unconfirmed{store: store, run: run, oldest: oldest, sizes: map[int64]bool{}}
}

// Has reports whether an object may be unconfirmed by its size, or by when it was missed first: what
// could not be looked into before that is not where it went.
func (d *Unconfirmed) Has(size int64, missed time.Time) bool {
	return d.sizes[size] || !d.since.IsZero() && !missed.After(d.since)
}

// AddSize adds an object of a known size.
func (d *Unconfirmed) AddSize(size int64) { d.sizes[size] = true }

// AddUnsized adds what has no known size. Has knows of it after Flush.
func (d *Unconfirmed) AddUnsized(ctx context.Context, key sources.Key) error {
	if d.page = append(d.page, key); len(d.page) < state.PageSize {
		return nil
	}
	return d.Flush(ctx)
}

// maxRunsRead are more than anyone asks how long something has been failing.
const maxRunsRead = 1000

// Flush finds since when there is what was added without a size.
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

// pageSince gives the time since which every listing has had all of the page. Only finished runs
// count that noted what was deleted: all else they found, beside it.
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
