package enrich

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/retry"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
	"assetferry/state/enrichment"
)

// proposed returns a world in which n assets have an accepted proposal.
func proposed(tb testing.TB, n int) *world {
	tb.Helper()
	w := newWorld(tb, n)
	_, err := w.ask(w.engine(), nil)
	must(tb, err)
	w.accept()
	return w
}

func TestApplyAndUndo(t *testing.T) {
	w := proposed(t, 2)
	got, err := w.engine().Apply(t.Context())
	if err != nil || got.States[enrichment.Applied] != 2 || w.updates != 2 {
		t.Fatalf("got %+v after %d updates (%v)", got, w.updates, err)
	}
	a := w.assets["asset00"]
	if a.Metadata.Description != "A made-up picture" || !slices.Equal(a.Tags, []string{"old", "one", "two"}) || len(a.Metadata.CustomAttributes) != 1 {
		t.Errorf("got %+v", a)
	}
	if again, err := w.engine().Apply(t.Context()); err != nil || len(again.States) != 0 || w.updates != 2 {
		t.Errorf("a second time: %+v (%v)", again, err)
	}
	if n, err := w.undoable(t, got.Run.ID); err != nil || n != 2 {
		t.Errorf("%d can be undone (%v)", n, err)
	}
	w.assets["asset01"].Metadata.Description = "A person wrote this about the dog"
	undone, err := w.engine().Undo(t.Context(), got.Run.ID)
	if err != nil || undone.States[enrichment.Undone] != 1 || undone.States[enrichment.Conflict] != 1 || undone.Run.Undoes != got.Run.ID {
		t.Errorf("got %+v (%v)", undone, err)
	}
	if a.Metadata.Description != "" || !slices.Equal(a.Tags, []string{"old"}) || w.assets["asset01"].Metadata.Description != "A person wrote this about the dog" {
		t.Errorf("got %+v", a)
	}
	if n, err := w.undoable(t, got.Run.ID); err != nil || n != 0 {
		t.Errorf("%d can still be undone (%v)", n, err)
	}
	if _, err := w.engine().Undo(t.Context(), undone.Run.ID); err == nil {
		t.Error("an undo can be undone")
	}
}

// TestUndoInTheWrongOrder verifies that if two runs wrote the same text, the first can only be
// undone after the second.
func TestUndoInTheWrongOrder(t *testing.T) {
	w := proposed(t, 1)
	first, err := w.engine().Apply(t.Context())
	must(t, err)
	w.answers = func(string) string { return `{"alt": "Another made-up picture", "tags": []}` }
	_, err = w.ask(w.engine(), func(r *Request) { r.Again = true })
	must(t, err)
	w.accept()
	second, err := w.engine().Apply(t.Context())
	must(t, err)
	got, err := w.engine().Undo(t.Context(), first.Run.ID)
	if err != nil || got.States[enrichment.Conflict] != 1 || w.assets["asset00"].Metadata.Description != "Another made-up picture" {
		t.Fatalf("got %+v (%v)", got, err)
	}
	for c, err := range w.store.Changes(t.Context(), first.Run.ID) {
		if err != nil || c.State != enrichment.ChangeApplied || c.Error != "a later run changed the asset again: undo run "+second.Run.ID+" first" {
			t.Errorf("got %+v (%v)", c, err)
		}
	}
	for _, run := range []string{second.Run.ID, first.Run.ID} {
		if got, err = w.engine().Undo(t.Context(), run); err != nil || got.States[enrichment.Undone] != 1 {
			t.Errorf("run %s: got %+v (%v)", run, got, err)
		}
	}
	if a := w.assets["asset00"]; a.Metadata.Description != "" || !slices.Equal(a.Tags, []string{"old"}) {
		t.Errorf("got %+v", a)
	}
}

// TestNeverOverAPerson verifies that an asset that another user changed after the proposal is not
// overwritten.
func TestNeverOverAPerson(t *testing.T) {
	for name, edit := range map[string]func(*world){
		"description": func(w *world) { w.assets["asset00"].Metadata.Description = "A person wrote this" },
		"tags":        func(w *world) { w.assets["asset00"].Tags = append(w.assets["asset00"].Tags, "person") },
		"gone":        func(w *world) { delete(w.assets, "asset00") },
	} {
		t.Run(name, func(t *testing.T) {
			w := proposed(t, 1)
			edit(w)
			got, err := w.engine().Apply(t.Context())
			if err != nil || got.States[enrichment.Conflict] != 1 || w.updates != 0 {
				t.Errorf("got %+v after %d updates (%v)", got, w.updates, err)
			}
			if e := w.enrichments()[0]; e.State != enrichment.Conflict || e.Error == "" {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestEveryFaultWriting makes the n-th write fail in every possible way, for each n, and repeats
// the run. It does the same for undo.
func TestEveryFaultWriting(t *testing.T) {
	ways := map[string]fault{
		"refused": {err: &statusError{"unavailable", retry.Transient, nil}}, "denied": {err: &statusError{"forbidden", retry.Fatal, nil}},
		"impossible": {err: &statusError{"no", retry.Permanent, nil}}, "lost": {lost: true, err: &statusError{"cut", retry.Transient, nil}},
		"killed before": {kill: true}, "killed after": {kill: true, lost: true},
	}
	random, step := seedtest.Rand(t), longtest.Size(5, 1)
	for name, way := range ways {
		first := 1 + random.IntN(step)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, struck := first, true; struck; n += step {
				t.Run(fmt.Sprint("call ", n), func(t *testing.T) { struck = applyAndUndo(t, way, n) })
			}
		})
	}
}

func applyAndUndo(t *testing.T, way fault, n int) (struck bool) {
	w := proposed(t, 2)
	strike := func() {
		w.again()
		w.fault = way
		w.fault.at = n
	}
	strike()
	first, _ := w.engine().Apply(t.Context()) // the final state shows the result
	struck = w.fault.struck
	w.again()
	second, err := w.engine().Apply(t.Context())
	must(t, err)
	if got := w.states(); got[enrichment.Applied] != 2 {
		t.Fatalf("there are %v, want both applied", got)
	}
	for _, a := range w.assets {
		if a.Metadata.Description != "A made-up picture" || !slices.Equal(a.Tags, []string{"old", "one", "two"}) {
			t.Errorf("got %+v", a)
		}
	}
	for _, run := range []Result{first, second} {
		if run.Run.ID == "" {
			continue // it did not even begin
		}
		strike()
		_, _ = w.engine().Undo(t.Context(), run.Run.ID)
		struck = struck || w.fault.struck
		w.again()
		_, err := w.engine().Undo(t.Context(), run.Run.ID)
		must(t, err)
	}
	if got := w.states(); got[enrichment.Undone] != 2 {
		t.Fatalf("there are %v, want both undone", got)
	}
	for _, a := range w.assets {
		if a.Metadata.Description != "" || !slices.Equal(a.Tags, []string{"old"}) {
			t.Errorf("got %+v", a)
		}
	}
	return struck
}

// TestWrittenMeanwhile verifies the result if a user changes an asset after the process that wrote
// it died.
func TestWrittenMeanwhile(t *testing.T) {
	for n := 1; ; n++ {
		w := proposed(t, 1)
		w.again()
		w.fault = fault{at: n, kill: true}
		_, _ = w.engine().Apply(t.Context())
		struck := w.fault.struck
		w.again()
		if !struck {
			break
		}
		if w.updates > 0 {
			continue // it was written before
		}
		w.assets["asset00"].Metadata.Description = "A person wrote this"
		got, err := w.engine().Apply(t.Context())
		if err != nil || got.States[enrichment.Conflict] != 1 || w.updates != 0 {
			t.Errorf("killed at call %d: got %+v (%v)", n, got, err)
		}
	}
}

// TestApplyAgain verifies that a proposal that was undone can be accepted and written again.
func TestApplyAgain(t *testing.T) {
	w := proposed(t, 1)
	got, err := w.engine().Apply(t.Context())
	must(t, err)
	_, err = w.engine().Undo(t.Context(), got.Run.ID)
	must(t, err)
	refused, err := w.engine().Accept(t.Context(), w.enrichments()[0].Num)
	if err != nil || len(refused) > 0 {
		t.Fatalf("refused %v (%v)", refused, err)
	}
	got, err = w.engine().Apply(t.Context())
	if err != nil || got.States[enrichment.Applied] != 1 || w.assets["asset00"].Metadata.Description != "A made-up picture" {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestImport(t *testing.T) {
	w := newWorld(t, 3)
	_, err := w.ask(w.engine(), nil)
	must(t, err)
	all := w.enrichments()
	if _, err := w.engine().Import(t.Context(), []Row{{Num: all[0].Num, Accepted: true}}); err == nil {
		t.Error("a row that says nothing is accepted")
	}
	refused, err := w.engine().Import(t.Context(), []Row{
		{Num: all[0].Num, Accepted: true, Text: " What a person wrote ", Tags: []string{"three"}}, {Num: all[1].Num}, {Num: all[2].Num, Decorative: true, Accepted: true}, {Num: 99}})
	if err != nil || !slices.Equal(refused, []int64{99}) {
		t.Errorf("refused %v (%v)", refused, err)
	}
	got := w.enrichments()
	if e := got[0]; e.State != enrichment.Accepted || !e.Edited || e.Proposal.Text != "What a person wrote" || !cmp.Equal(e.Proposal.Tags, []string{"three"}) {
		t.Errorf("got %+v", e)
	}
	if got[1].State != enrichment.Rejected || got[2].State != enrichment.Rejected {
		t.Errorf("got %+v and %+v", got[1], got[2])
	}
}

// undoable counts the changes that an undo of a run would restore.
func (w *world) undoable(t *testing.T, run string) (n int, err error) {
	for _, err := range w.engine().Undoable(t.Context(), run) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
