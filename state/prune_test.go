package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assetferry/sources"
)

// A calendar is a state database in which a day passes with every run.
type calendar struct {
	*journey
	today time.Time
	runs  []Run
}

func newCalendar(t *testing.T) *calendar {
	t.Helper()
	c := &calendar{journey: &journey{TB: t, Store: newStore(t)}, today: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)}
	c.now = func() time.Time { return c.today }
	var err error
	c.pair, err = c.Pair(t.Context(), "source", "destination", "https://example.com")
	must(t, err)
	return c
}

// begin begins a run a day later.
func (c *calendar) begin(command string) {
	c.Helper()
	c.today = c.today.AddDate(0, 0, 1)
	var err error
	c.run, err = c.Begin(c.Context(), c.pair, command, json.RawMessage("{}"))
	must(c, err)
	c.runs = append(c.runs, c.run)
}

// runOnce executes a run that uploads some objects and fails with others.
func (c *calendar) runOnce(command string, keys, failing []string) {
	c.Helper()
	c.begin(command)
	c.apply(slices.Concat(keys, failing)...)
	c.take(len(keys) + len(failing))
	for _, key := range keys {
		outcome := done(key)
		if _, err := c.Receipt(c.Context(), c.pair.ID, sources.Key(key)); err == nil {
			outcome.InsteadOf = sources.Key(key)
		}
		must(c, c.record(outcome))
	}
	for _, key := range failing {
		must(c, c.record(Outcome{Key: sources.Key(key), State: ItemFailed, Error: "no"}))
	}
	must(c, c.FinishRun(c.Context(), c.run.Num))
}

// itemsOf returns the number of items of each run, -1 for a run that no longer exists.
func (c *calendar) itemsOf() (counts []int) {
	c.Helper()
	for _, r := range c.runs {
		if _, err := c.Run(c.Context(), r.ID); errors.Is(err, ErrNotFound) {
			counts = append(counts, -1)
			continue
		}
		counts = append(counts, len(collect(c, c.Items(c.Context(), r.Num))))
	}
	return counts
}

// TestPrune verifies that old items are deleted unless other data depends on them.
func TestPrune(t *testing.T) {
	c := newCalendar(t)
	ctx := t.Context()
	c.runOnce("migrate", []string{"a", "b"}, []string{"c"}) // a later run exists
	c.begin("plan")                                         // it is superseded
	c.stage("a", "b")
	c.runOnce("migrate", []string{"d"}, nil) // the newest of its command
	c.runOnce("sync", []string{"e"}, []string{"f"})
	undone := c.run
	undo, err := c.BeginUndo(ctx, undone) // the undo needs it
	must(t, err)
	must(t, c.stageUndo(undo))
	i := decided("e", Trash, ItemPlanned)
	must(t, c.DecideUndo(ctx, undo.Num, []Item{i}))
	must(t, c.FinishPlan(ctx, undo.Num, "", json.RawMessage("[]")))
	must(t, c.SetRunState(ctx, undo.Num, Planned, Applying))
	_, err = c.Take(ctx, undo.Num, Next{N: 1, Time: c.today})
	must(t, err)
	must(t, c.Record(ctx, undo.Num, c.pair.ID, []Outcome{{Key: "e", State: ItemFailed}}))
	must(t, c.Supersede(ctx, undo.Num))
	c.runs = append(c.runs, undo)
	c.runOnce("sync", []string{"a"}, []string{"f"}) // no other data needs it
	must(t, c.SaveVerification(ctx, Verification{Pair: c.pair.ID, Level: "listing"}, nil))
	c.runOnce("sync", []string{"b"}, nil)
	must(t, c.SaveVerification(ctx, Verification{Pair: c.pair.ID, Level: "checksum", Differences: 1}, []Difference{{"a", "x", "size", "differs"}}))
	c.begin("sync") // is not finished
	c.apply("g")

	if diff := cmp.Diff([]int{3, 0, 1, 2, 1, 2, 1, 1}, c.itemsOf()); diff != "" {
		t.Fatal(diff)
	}
	c.today = c.today.AddDate(2, 0, 0)
	want := Pruned{Runs: 3, Plans: 1, Items: 6, Verifications: 1}
	if p, err := c.Prunable(ctx, c.today); err != nil || p != want {
		t.Errorf("%+v can be pruned (%v), want %+v", p, err, want)
	}
	tallies, err := c.Tallies(ctx, c.runs[0].Num)
	must(t, err)
	p, err := c.Prune(ctx, c.today)
	if err != nil || p != want {
		t.Errorf("%+v was pruned (%v), want %+v", p, err, want)
	}
	if diff := cmp.Diff([]int{0, -1, 1, 2, 0, 0, 1, 1}, c.itemsOf()); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if again, err := c.Tallies(ctx, c.runs[0].Num); err != nil || cmp.Diff(tallies, again) != "" {
		t.Errorf("the sums of a pruned run (%v):\n%s", err, cmp.Diff(tallies, again))
	}
	if again, err := c.Prune(ctx, c.today); err != nil || !again.IsEmpty() {
		t.Errorf("there is more: %+v (%v)", again, err)
	}
	if run, err := c.Run(ctx, c.runs[0].ID); err != nil || !run.PrunedAt.Equal(c.today) {
		t.Errorf("pruned at %v (%v)", run.PrunedAt, err)
	}
	for _, begin := range []func() error{
		func() error { _, err := c.BeginUndo(ctx, c.runs[0]); return err },
		func() error { _, err := c.PlanUndo(ctx, c.runs[0]); return err },
	} {
		if err := begin(); !errors.Is(err, ErrPruned) {
			t.Errorf("an undo of what nobody remembers: %v", err)
		}
	}
}

// TestPruneKeepsOldURLs verifies that the URLs of replaced assets stay, because links to them may
// exist.
func TestPruneKeepsOldURLs(t *testing.T) {
	c := newCalendar(t)
	c.runOnce("sync", []string{"replaced", "renewed"}, nil)
	c.begin("sync")
	c.apply("replaced", "renewed")
	must(t, c.SaveFormer(t.Context(), c.run.Num, c.pair.ID, []Former{
		{"replaced", "replaced", json.RawMessage("{}")}, {"renewed", "renewed", json.RawMessage("{}")}}))
	c.take(2)
	renewed := Outcome{Key: "renewed", State: ItemDone, Receipt: receipt("renewed", "another asset"), InsteadOf: "renewed"}
	must(t, c.record(Outcome{Key: "replaced", State: ItemDone, Receipt: receipt("replaced", "asset of replaced"), InsteadOf: "replaced"}, renewed))
	must(t, c.FinishRun(t.Context(), c.run.Num))
	c.runOnce("sync", nil, nil)
	if _, err := c.Prune(t.Context(), c.today.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	left, err := query(t.Context(), c.r, "test", scanText, `SELECT key FROM former`)
	if err != nil || !slices.Equal(left, []string{"renewed"}) {
		t.Errorf("kept of what was before: %v (%v)", left, err)
	}
}

// memory returns the data about its pair that pruning must not change.
func (c *calendar) memory() map[string]string {
	c.Helper()
	ctx := c.Context()
	v, err := c.LastVerification(ctx, c.pair.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		c.Fatal(err)
	}
	last, err := c.LastFinished(ctx, c.pair, "sync")
	if err != nil && !errors.Is(err, ErrNotFound) {
		c.Fatal(err)
	}
	runs, err := c.RunsOf(ctx, c.pair.ID, 100)
	must(c, err)
	all := map[string]any{
		"URLs": collect(c, c.AssetURLs(ctx, c.pair.ID, 0)), "receipts": collect(c, c.Receipts(ctx, c.pair.ID, "")),
		"failures": collect(c, c.Failures(ctx, c.pair.ID, "")), "orphans": collect(c, c.Orphans(ctx, c.pair.ID, "")),
		"verification": v, "differences": collect(c, c.CurrentDifferences(ctx, v.Pair)), "last sync": last.ID, "its items": collect(c, c.Items(ctx, last.Num)),
	}
	for _, r := range runs {
		if all["sums of "+r.ID], err = c.Tallies(ctx, r.Num); err != nil {
			c.Fatal(err)
		}
	}
	texts := map[string]string{}
	for what, v := range all {
		texts[what] = fmt.Sprintf("%+v", v)
	}
	return texts
}

// TestPruneChangesNoMemory verifies that pruning at any time changes no data that a redirect map, a
// verification or a plan reads, except MetUnsized, and that the state database stays consistent.
func TestPruneChangesNoMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCalendar(t)
		keys := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID)
		for range rapid.IntRange(1, 12).Draw(rt, "days") {
			switch rapid.SampledFrom([]string{"sync", "sync", "migrate", "plan", "verify", "undo"}).Draw(rt, "what") {
			case "sync":
				c.runOnce("sync", keys.Draw(rt, "keys"), []string{"x"})
			case "migrate":
				c.runOnce("migrate", keys.Draw(rt, "keys"), nil)
			case "plan":
				c.begin("plan")
				c.stage(keys.Draw(rt, "keys")...)
			case "verify":
				must(t, c.SaveVerification(t.Context(), Verification{Pair: c.pair.ID, Level: "listing", Differences: 1}, []Difference{{"a", "x", "size", "differs"}}))
			case "undo":
				if len(c.runs) == 0 || c.run.Command == "plan" || c.run.Undoes != 0 {
					continue
				}
				undo, err := c.BeginUndo(t.Context(), c.run)
				must(t, err)
				must(t, c.Supersede(t.Context(), undo.Num))
			}
			if !rapid.Bool().Draw(rt, "prune") {
				continue
			}
			before := c.memory()
			_, err := c.Prune(t.Context(), c.today.AddDate(0, 0, rapid.IntRange(-9, 9).Draw(rt, "days ago")))
			must(t, err)
			if diff := cmp.Diff(before, c.memory()); diff != "" {
				rt.Fatalf("pruning changed (-before +after):\n%s", diff)
			}
			if problems, err := c.Check(t.Context()); err != nil || len(problems) > 0 {
				rt.Fatalf("check: %v (%v)", problems, err)
			}
		}
	})
}
