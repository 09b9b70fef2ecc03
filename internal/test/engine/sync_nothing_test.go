package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// planSync stores a plan of a sync with some items, and with the previous state of all that it
// changes.
func (w *world) planSync(r migrate.Rules, items ...state.Item) migrate.Plan {
	w.Helper()
	rules, err := json.Marshal(r)
	must(w, err)
	run, err := w.store.Begin(w.Context(), w.pair, "sync", rules)
	must(w, err)
	staged, former := make([]state.Item, len(items)), []state.Former{}
	for n, i := range items {
		staged[n] = state.Item{Object: i.Object}
		if i.Asset != "" {
			of := i.Key
			if i.PreviousKey != "" {
				of = i.PreviousKey
			}
			former = append(former, state.Former{Key: i.Key, Of: of, Asset: json.RawMessage(`{}`)})
		}
	}
	must(w, w.store.Stage(w.Context(), run.Num, state.Page{Items: staged, Done: true}))
	must(w, w.store.Decided(w.Context(), run.Num, items))
	must(w, w.store.SaveFormer(w.Context(), run.Num, w.pair.ID, former))
	must(w, w.store.FinishPlan(w.Context(), run.Num, "hash", json.RawMessage("[]")))
	run, err = w.store.Run(w.Context(), run.ID)
	must(w, err)
	return migrate.Plan{Run: run}
}

// object returns an object as it is listed now.
func (w *world) object(key string) sources.Object {
	w.Helper()
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		if o.Key == sources.Key(key) {
			return o
		}
	}
	w.Fatalf("no object %s", key)
	return sources.Object{}
}

// wants returns the item of an object whose asset goes to a folder of a category.
func (w *world) wants(action state.Action, key, category, folder, name string) state.Item {
	w.Helper()
	o := w.object(key)
	return state.Item{Object: sources.Object{Key: sources.Key(key), Size: o.Size, Time: o.Time, VersionTag: o.VersionTag},
		Action: action, Reason: "because", State: state.ItemPlanned, Category: category, Folder: folder, Name: name}
}

// renames gives an object another key, and returns the item of its move.
func (w *world) renames(from, to, category, folder, name string) state.Item {
	w.Helper()
	w.put(to, w.contentOf(from))
	w.source.Delete(sources.Key(from))
	i := w.wants(state.Move, to, category, folder, name)
	i.PreviousKey, i.Asset = sources.Key(from), w.receipt(from).Asset
	return i
}

func (w *world) receipt(key string) state.Receipt {
	w.Helper()
	r, err := w.store.Receipt(w.Context(), w.pair.ID, sources.Key(key))
	must(w, err)
	return r
}

// contentOf returns the content of an object.
func (w *world) contentOf(key string) string {
	w.Helper()
	r, err := w.source.Open(w.Context(), w.object(key), 0)
	must(w, err)
	content, err := io.ReadAll(r)
	must(w, errors.Join(err, r.Close()))
	return string(content)
}

// applySync applies a plan as the command does.
func (w *world) applySync(ctx context.Context, d migrate.Deps, p migrate.Plan, changes ...change) error {
	return w.applier(d, changes...).Apply(ctx, p.Run)
}

// completes applies a plan, and fails the test unless the run completes.
func (w *world) completes(p migrate.Plan, changes ...change) {
	w.Helper()
	must(w, w.applySync(w.Context(), w.deps(), p, changes...))
	w.wantFinished(p)
}

func (w *world) wantFinished(p migrate.Plan) {
	w.Helper()
	if run, err := w.store.Run(w.Context(), p.Run.ID); err != nil || run.State != state.Finished {
		got, _ := w.states(p)
		w.Fatalf("the run is %s (%v) with %v, want finished", run.State, err, got)
	}
	w.wantSound()
}

func TestSyncOfNothing(t *testing.T) {
	w := newWorld(t)
	asked := w.during(func() { w.completes(w.planSync(syncRules("keep"))) })
	if len(asked) > 0 {
		t.Errorf("asked for %v", asked)
	}
}
