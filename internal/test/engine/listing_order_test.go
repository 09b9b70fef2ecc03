package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

var errBroken = errors.New("the disk is gone")

// A breaking source fails at a key, and records where its last listing began.
type breaking struct {
	sources.Source
	at    sources.Key
	after sources.Key
}

func (b *breaking) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	b.after = after
	return func(yield func(sources.Object, error) bool) {
		for o, err := range b.Source.Objects(ctx, after) {
			if err == nil && o.Key >= b.at {
				yield(sources.Object{}, errBroken)
				return
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// A disorderly source lists everything twice.
type disorderly struct{ sources.Source }

func (d disorderly) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for range 2 {
			for o, err := range d.Source.Objects(ctx, after) {
				if !yield(o, err) {
					return
				}
			}
		}
	}
}

// TestDisorderAtPageBorders verifies that a listing in the wrong order at the border of a page is
// discarded as a whole, although a part of it is in the state database already.
func TestDisorderAtPageBorders(t *testing.T) {
	t.Parallel()
	const page, objects = 1000, 2001
	w := newWorld(t)
	w.many(objects)
	for _, at := range []int{0, 1, page - 2, page - 1, page, page + 1, 2*page - 1, 2 * page} {
		w.wantDisorder(lister{w.source, func(all []sources.Object) ([]sources.Object, error) {
			return slices.Insert(all, at, all[at]), nil
		}})
		w.wantPlanned(objects)
	}
}

// TestDisorderAfterResume verifies that the run also detects a source that resumes its listing,
// after an error, at another position than requested.
func TestDisorderAfterResume(t *testing.T) {
	const objects = 1501
	w := newWorld(t)
	w.many(objects)
	for name, list := range map[string]func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error]{
		"begins anew": func(ctx context.Context, _ sources.Key) iter.Seq2[sources.Object, error] {
			return w.source.Objects(ctx, "")
		},
		"one too early": func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
			return w.source.Objects(ctx, after[:len(after)-1])
		},
	} {
		d := w.deps()
		d.Source = &breaking{Source: w.source, at: "1200.jpg"}
		if _, err := w.tryPlan(d); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want %v", err, errBroken)
		}
		t.Log(name)
		w.wantDisorder(listing{w.source, list})
		w.wantPlanned(objects)
	}
}

// A listing is a source with another function to list objects.
type listing struct {
	sources.Source
	objects func(context.Context, sources.Key) iter.Seq2[sources.Object, error]
}

func (l listing) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return l.objects(ctx, after)
}

// many puts n objects into the source, in the order of their numbers.
func (w *world) many(n int) {
	for i := range n {
		w.put(fmt.Sprintf("%04d.jpg", i), "content")
	}
}

// tryPlan plans the unfinished run, or a new one.
func (w *world) tryPlan(d migrate.Deps) (migrate.Plan, error) {
	w.Helper()
	r := migrate.DefaultRules()
	rules, err := json.Marshal(r)
	must(w, err)
	run, err := w.store.Unfinished(w.Context(), w.pair)
	if errors.Is(err, state.ErrNotFound) {
		run, err = w.store.Begin(w.Context(), w.pair, "migrate", rules)
	}
	must(w, err)
	return plan.New(d, r).Plan(w.Context(), run)
}

func (w *world) wantDisorder(s sources.Source) {
	w.Helper()
	d := w.deps()
	d.Source = s
	if _, err := w.tryPlan(d); err == nil || !strings.Contains(err.Error(), "its listing is not sorted") {
		w.Errorf("got %v, want that the listing is not sorted", err)
	}
}

// wantPlanned plans, verifies the number of objects to create, and gives the run up.
func (w *world) wantPlanned(objects int64) {
	w.Helper()
	plan, err := w.tryPlan(w.deps())
	must(w, err)
	if states, _ := w.states(plan); states["create planned"] != objects || len(states) != 1 {
		w.Errorf("planned are %v, want %d", states, objects)
	}
	must(w, w.store.Supersede(w.Context(), plan.Run.Num))
}

// TestListingInPartsIsDecidedAlike verifies that decisions during the listing and decisions after
// an interrupted listing are the same.
func TestListingInPartsIsDecidedAlike(t *testing.T) {
	w := newWorld(t)
	w.putMany(9)
	w.put("sub/X.jpg", "x", "sub/x.jpg", "y", "sub/z.odd", "z", "t.txt", "t")
	r := migrate.DefaultRules()
	r.Limit, r.Unsupported = 12, "create"
	whole := w.plan(r)

	w.loseState()
	rules, err := json.Marshal(r)
	must(t, err)
	run, err := w.store.Begin(t.Context(), w.pair, "plan", rules)
	must(t, err)
	d := w.deps()
	d.Source = &breaking{Source: w.source, at: "sub/x.jpg"}
	if _, err := plan.New(d, r).Plan(t.Context(), run); err == nil {
		t.Fatal("the listing did not break off")
	}
	parts, err := plan.New(w.deps(), r).Plan(t.Context(), run)
	must(t, err)
	if whole.Run.PlanHash != parts.Run.PlanHash || whole.Renamed != 1 {
		t.Errorf("in one go:   %+v\nin two parts: %+v", whole.Tallies, parts.Tallies)
	}
}
