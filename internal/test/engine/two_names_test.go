package engine

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assetferry/migrate"
	"assetferry/state"
)

// TestOneLibraryOfTwoNames verifies that a library that is migrated alternately under two names of
// its source, with interrupted runs, is uploaded once.
func TestOneLibraryOfTwoNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		library, r := drawLibrary(rt), drawRules(rt)
		for key := range library { // so that no asset can belong to either of two objects
			library[key] = slices.Concat(library[key], []byte(key))
		}
		w := newWorld(t, faults(t, drawFaults(rt)...))
		defer w.close()
		w.source.Replace(library)
		elsewhere, err := w.store.Pair(w.Context(), "elsewhere", w.pair.Destination, w.url)
		must(w, err)
		names, provenance := []state.Pair{w.pair, elsewhere}, drawProvenance(rt)
		for attempt := range rapid.IntRange(0, 4).Draw(rt, "interruptions") {
			w.pair = rapid.SampledFrom(names).Draw(rt, "source")
			w.outdate(w.deps(), provenance)
			_, err := w.tryInterrupted(rt, w.deps(), r, attempt, provenance)
			if err != nil && !errors.Is(err, errPulled) && !mayPass(err) {
				rt.Fatal(err)
			}
		}
		for _, w.pair = range names {
			w.finish(rt, w.deps(), r, func(int) { w.outdate(w.deps(), provenance) }, provenance)
		}
		for _, w.pair = range names {
			w.wantLibrary(rt, oracle(library, r.OnCollision))
			again := func() { insist(rt, func() (migrate.Plan, error) { return w.try(w.Context(), r, provenance) }) }
			if sent := writes(w.during(again)); len(sent) > 0 {
				rt.Errorf("%s, migrated again, sent %v", w.pair.Source, sent)
			}
		}
	})
}

// outdate does what the command does with a run that was planned before another source sent
// something.
func (w *world) outdate(d migrate.Deps, changes ...change) {
	w.Helper()
	run, err := w.store.Unfinished(w.Context(), w.pair)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return
	case err == nil && run.Stale:
		w.relist(d, changes...)
	case err == nil && run.State == state.Planned:
		must(w, w.store.SetRunState(w.Context(), run.Num, state.Planned, state.Planning))
	}
	must(w, err)
}
