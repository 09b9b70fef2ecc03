package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"assetferry/migrate"
	"assetferry/state"
)

var errJournal = errors.New("the journal's disk is full")

// A failingJournal fails the n-th of its calls that follow, before anything is
// done.
type failingJournal struct {
	migrate.Journal
	mu    sync.Mutex
	at    int // counts from 0
	calls int
}

func (j *failingJournal) fail() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls++
	if j.calls == j.at+1 {
		return errJournal
	}
	return nil
}

func (j *failingJournal) Run(ctx context.Context, id string) (state.Run, error) {
	if err := j.fail(); err != nil {
		return state.Run{}, err
	}
	return j.Journal.Run(ctx, id)
}

func (j *failingJournal) SetRunState(ctx context.Context, run int64, from, to state.RunState) error {
	return errors.Join(j.fail(), j.Journal.SetRunState(ctx, run, from, to)) // done, but it says it is not
}

func (j *failingJournal) FinishPlan(ctx context.Context, run int64, hash string, categories json.RawMessage) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.FinishPlan(ctx, run, hash, categories)
}

func (j *failingJournal) FinishRun(ctx context.Context, run int64) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.FinishRun(ctx, run)
}

func (j *failingJournal) Stage(ctx context.Context, run int64, p state.Page) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.Stage(ctx, run, p)
}

func (j *failingJournal) Decided(ctx context.Context, run int64, items []state.Item) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.Decided(ctx, run, items)
}

func (j *failingJournal) Items(ctx context.Context, run int64, states ...state.ItemState) iter.Seq2[state.Item, error] {
	return failing(j, j.Journal.Items(ctx, run, states...))
}

func (j *failingJournal) Receipts(ctx context.Context, pair int64, after string) iter.Seq2[state.Receipt, error] {
	return failing(j, j.Journal.Receipts(ctx, pair, after))
}

// failing may fail before each row.
func failing[T any](j *failingJournal, rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if e := j.fail(); e != nil {
				var none T
				yield(none, e)
				return
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (j *failingJournal) Collisions(ctx context.Context, run, pair int64) ([]state.Item, error) {
	if err := j.fail(); err != nil {
		return nil, err
	}
	return j.Journal.Collisions(ctx, run, pair)
}

func (j *failingJournal) Tallies(ctx context.Context, run int64) ([]state.Tally, error) {
	if err := j.fail(); err != nil {
		return nil, err
	}
	return j.Journal.Tallies(ctx, run)
}

func (j *failingJournal) Take(ctx context.Context, run int64, after string, n int, at time.Time) ([]state.Item, error) {
	items, err := j.Journal.Take(ctx, run, after, n, at)
	return items, errors.Join(err, j.fail()) // taken, but nobody knows
}

func (j *failingJournal) Release(ctx context.Context, run int64, keys []string) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.Release(ctx, run, keys)
}

func (j *failingJournal) Resend(ctx context.Context, run int64, keys []string, at time.Time) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.Resend(ctx, run, keys, at)
}

func (j *failingJournal) Interrupted(ctx context.Context, run int64) ([]state.Item, error) {
	if err := j.fail(); err != nil {
		return nil, err
	}
	return j.Journal.Interrupted(ctx, run)
}

func (j *failingJournal) Record(ctx context.Context, run, pair int64, outcomes []state.Outcome) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.Record(ctx, run, pair, outcomes)
}

func (j *failingJournal) Choices(ctx context.Context, destination string) (map[string]string, error) {
	if err := j.fail(); err != nil {
		return nil, err
	}
	return j.Journal.Choices(ctx, destination)
}

func (j *failingJournal) SaveChoices(ctx context.Context, destination string, choices map[string]string) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.SaveChoices(ctx, destination, choices)
}

func (j *failingJournal) Folders(ctx context.Context, destination, category string) (map[string]string, error) {
	if err := j.fail(); err != nil {
		return nil, err
	}
	return j.Journal.Folders(ctx, destination, category)
}

func (j *failingJournal) SaveFolder(ctx context.Context, destination, category, path, id string) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.SaveFolder(ctx, destination, category, path, id)
}

func (j *failingJournal) SaveNewFolder(ctx context.Context, pair state.Pair, category, path, id string) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.SaveNewFolder(ctx, pair, category, path, id)
}

func (j *failingJournal) SaveOurs(ctx context.Context, pair int64, category, path string) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.SaveOurs(ctx, pair, category, path)
}

func (j *failingJournal) IsOurs(ctx context.Context, pair int64, category, path string) (bool, error) {
	if err := j.fail(); err != nil {
		return false, err
	}
	return j.Journal.IsOurs(ctx, pair, category, path)
}

func (j *failingJournal) HoldsAsset(ctx context.Context, pair int64, asset string) (bool, error) {
	if err := j.fail(); err != nil {
		return false, err
	}
	return j.Journal.HoldsAsset(ctx, pair, asset)
}

func (j *failingJournal) OwnsAsset(ctx context.Context, destination, asset string) (bool, error) {
	if err := j.fail(); err != nil {
		return false, err
	}
	return j.Journal.OwnsAsset(ctx, destination, asset)
}

func (j *failingJournal) StageInventory(ctx context.Context, scope state.Scope, entries []state.Entry) error {
	if err := j.fail(); err != nil {
		return err
	}
	return j.Journal.StageInventory(ctx, scope, entries)
}

func (j *failingJournal) EntriesAt(ctx context.Context, scope state.Scope, slot int64) ([]state.Entry, error) {
	if err := j.fail(); err != nil {
		return nil, err
	}
	return j.Journal.EntriesAt(ctx, scope, slot)
}
