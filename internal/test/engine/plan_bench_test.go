package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

const benchObjects = 100_000

// numbered is a source that generates its objects as it lists them.
type numbered struct{ perFolder int }

func (numbered) Traits() sources.Traits { return sources.Traits{Precision: time.Second} }

func (s numbered) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for n := range benchObjects {
			key := sources.Key(fmt.Sprintf("folder%05d/photo%08d.jpg", n/s.perFolder, n))
			o := sources.Object{Key: key, Size: int64(20_000 + n%5000), Time: listed, VersionTag: fmt.Sprintf("%032x", n)}
			if key > after && !yield(o, nil) {
				return
			}
		}
	}
}

func (numbered) Open(context.Context, sources.Object, int64) (io.ReadCloser, error) {
	panic("nothing is read")
}

var listed = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// empty is a destination with one empty category.
type empty struct{ migrate.Reader }

func (empty) Categories(context.Context) iter.Seq2[assets.Category, error] {
	return func(yield func(assets.Category, error) bool) {
		yield(assets.Category{ID: "images", Name: "Images", Extensions: []string{"jpg"}}, nil)
	}
}

func (empty) Folders(context.Context) ([]assets.Folder, error) { return nil, nil }

func (empty) Limits(context.Context) (assets.Limits, error) { return assets.Limits{}, nil }

// A benchPlan plans the same source repeatedly.
type benchPlan struct {
	testing.TB
	store *state.Store
	pair  state.Pair
	deps  migrate.Deps
}

func (empty) List(context.Context, assets.ListOptions) iter.Seq2[assets.Asset, error] {
	return func(func(assets.Asset, error) bool) {}
}

func newBenchPlan(b testing.TB, source sources.Source) *benchPlan {
	store, err := state.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"))
	must(b, err)
	b.Cleanup(func() { must(b, store.Close()) })
	pair, err := store.Pair(b.Context(), "numbered", "empty", "")
	must(b, err)
	return &benchPlan{b, store, pair, migrate.Deps{Source: source, Dest: empty{}, State: store}}
}

func (b *benchPlan) plan() migrate.Plan {
	rules, err := json.Marshal(migrate.DefaultRules())
	must(b, err)
	run, err := b.store.Begin(b.Context(), b.pair, "migrate", rules)
	must(b, err)
	plan, err := plan.New(b.deps, migrate.DefaultRules()).Plan(b.Context(), run)
	must(b, err)
	return plan
}

// send records all items of a run as uploaded.
func (b *benchPlan) send(run state.Run) {
	must(b, b.store.SetRunState(b.Context(), run.Num, state.Planned, state.Applying))
	for after := ""; ; {
		items, err := b.store.Take(b.Context(), run.Num, state.Next{After: sources.Key(after), N: 1000, Time: listed})
		must(b, err)
		if len(items) == 0 {
			break
		}
		var outcomes []state.Outcome
		for _, i := range items {
			outcomes = append(outcomes, state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: &state.Receipt{
				Object: i.Object, Checksum: make([]byte, 32), Asset: "asset of " + string(i.Key),
				Name: i.Name, Extension: "jpg", Category: i.Category, Slot: i.Slot, URL: "https://example.com/assets/" + string(i.Key),
			}})
			after = string(i.Key)
		}
		must(b, b.store.Record(b.Context(), run.Num, b.pair.ID, outcomes))
	}
	must(b, b.store.FinishRun(b.Context(), run.Num))
}

func report(b *testing.B) {
	b.ReportMetric(benchObjects*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
	b.ReportAllocs()
}

// BenchmarkPlan plans 100,000 objects into an empty destination.
func BenchmarkPlan(b *testing.B) {
	p := newBenchPlan(b, numbered{500})
	for b.Loop() {
		p.plan()
	}
	report(b)
}

// BenchmarkQuietRun plans 100,000 objects that are all uploaded, in many folders and in one.
func BenchmarkQuietRun(b *testing.B) {
	for name, perFolder := range map[string]int{"tree": 500, "flat": benchObjects} {
		b.Run(name, func(b *testing.B) {
			p := newBenchPlan(b, numbered{perFolder})
			p.send(p.plan().Run)
			for b.Loop() {
				if plan := p.plan(); plan.Run.Unchanged != benchObjects {
					b.Fatalf("%d objects are unchanged", plan.Run.Unchanged)
				}
			}
			report(b)
		})
	}
}
