package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assetferry/internal/test/longtest"

	"go.uber.org/goleak"

	"assetferry/sources"
)

func TestMain(m *testing.M) {
	longtest.Checks(longtest.Size(20, 100))
	goleak.VerifyTestMain(m)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// open opens a state database until the test ends.
func open(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), path)
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	return s
}

func newStore(tb testing.TB) *Store {
	tb.Helper()
	return open(tb, filepath.Join(tb.TempDir(), "state.db"))
}

// A journey is a state database with a run, and methods to bring the run into each state.
type journey struct {
	testing.TB
	*Store
	pair Pair
	run  Run
}

// begin starts a run.
func begin(tb testing.TB) *journey {
	tb.Helper()
	s := newStore(tb)
	pair, err := s.Pair(tb.Context(), "source", "destination", "https://example.com")
	must(tb, err)
	run, err := s.Begin(tb.Context(), pair, "migrate", json.RawMessage("{}"))
	must(tb, err)
	return &journey{tb, s, pair, run}
}

var modified = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)

func staged(key string) Item {
	return Item{Object: sources.Object{Key: sources.Key(key), Size: 10, Time: modified, VersionTag: "v1"}}
}

// stage completes a listing of these keys.
func (j *journey) stage(keys ...string) {
	j.Helper()
	p := Page{Done: true}
	for _, key := range keys {
		p.Items = append(p.Items, staged(key))
		p.Cursor = sources.Key(key)
	}
	must(j, j.Stage(j.Context(), j.run.Num, p))
}

func decided(key string, a Action, st ItemState) Item {
	i := staged(key)
	i.Action, i.Reason, i.State = a, "because", st
	i.Category, i.Folder, i.Name, i.Slot = "category", "folder", key, int64(len(key))
	return i
}

// apply prepares a run that creates the assets of these keys, so that items can be taken.
func (j *journey) apply(keys ...string) {
	j.Helper()
	j.stage(keys...)
	var items []Item
	for _, key := range keys {
		items = append(items, decided(key, Create, ItemPlanned))
	}
	must(j, j.Decided(j.Context(), j.run.Num, items))
	must(j, j.FinishPlan(j.Context(), j.run.Num, "hash", json.RawMessage("[]")))
	must(j, j.SetRunState(j.Context(), j.run.Num, Planned, Applying))
}

func (j *journey) take(n int) []string {
	j.Helper()
	items, err := j.Take(j.Context(), j.run.Num, Next{After: "", N: n, Time: time.Now()})
	must(j, err)
	return keysOf(items)
}

func keysOf(items []Item) (keys []string) {
	for _, i := range items {
		keys = append(keys, string(i.Key))
	}
	return keys
}

func receipt(key, asset string) *Receipt {
	return &Receipt{
		Object: sources.Object{Key: sources.Key(key), Size: 10, Time: modified, VersionTag: "v1"}, Checksum: make([]byte, 32), Asset: asset,
		Name: key, Extension: "jpg", Category: "category", Folder: "folder-id", URL: "https://example.com/" + asset, Slot: 7,
	}
}

func done(key string) Outcome {
	return Outcome{Key: sources.Key(key), State: ItemDone, Receipt: receipt(key, "asset of "+key)}
}

func (j *journey) record(outcomes ...Outcome) error {
	return j.Record(j.Context(), j.run.Num, j.pair.ID, outcomes)
}

func (j *journey) stateOf(key string) ItemState {
	j.Helper()
	i, err := j.Item(j.Context(), j.run.Num, sources.Key(key))
	must(j, err)
	return i.State
}

// raw returns a second connection, like that of another program.
func raw(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	must(tb, err)
	tb.Cleanup(func() { must(tb, db.Close()) })
	return db
}

func collect[T any](tb testing.TB, rows func(yield func(T, error) bool)) (all []T) {
	tb.Helper()
	for row, err := range rows {
		must(tb, err)
		all = append(all, row)
	}
	return all
}

func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%06d.jpg", i)
	}
	return slices.Clip(keys)
}

var background = context.Background()

// explained returns the steps in which SQLite carries out a statement.
func explained(t *testing.T, path, stmt string, args ...any) []string {
	t.Helper()
	rows, err := raw(t, path).QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+stmt, args...)
	must(t, err)
	steps, err := scanAll(rows, func(rows *sql.Rows) (step string, err error) {
		var id, parent, unused int64
		return step, rows.Scan(&id, &parent, &unused, &step)
	})
	must(t, err)
	return steps
}
