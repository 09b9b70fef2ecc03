package state

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"assetferry/sources"
)

// TestTracesOfSyncs verifies the history of an object after syncs: the keys it had, its former
// content, and the time since which it is deleted.
func TestTracesOfSyncs(t *testing.T) {
	c := newCalendar(t)
	ctx := t.Context()
	c.runOnce("sync", []string{"old", "gone"}, []string{"failing"})
	c.begin("sync")
	missed := staged("gone")
	missed.Obstacle = "gone"
	must(t, c.Stage(ctx, c.run.Num, Page{Done: true, Items: []Item{staged("failing"), missed, staged("new"), staged("old")}}))
	move := decided("new", Move, ItemPlanned)
	move.PreviousKey = "old"
	missed = decided("gone", Skip, ItemSkipped)
	must(t, c.Decided(ctx, c.run.Num, []Item{decided("failing", Create, ItemPlanned), missed, move}))
	must(t, c.SaveFormer(ctx, c.run.Num, c.pair.ID, []Former{{"new", "old", json.RawMessage("{}")}}))
	must(t, c.FinishPlan(ctx, c.run.Num, "hash", json.RawMessage("[]")))
	must(t, c.SetRunState(ctx, c.run.Num, Planned, Applying))
	c.take(9)
	if _, _, err := c.MovedTo(ctx, c.pair.ID, "old"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a move that is not done: %v", err)
	}
	must(t, c.record(done("failing"), Outcome{Key: "new", State: ItemDone, Receipt: receipt("new", "asset of old"), InsteadOf: "old"}))
	must(t, c.FinishSync(ctx, c.run, Ending{Absent: "gone"}))

	if to, run, err := c.MovedTo(ctx, c.pair.ID, "old"); err != nil || to != "new" || run != c.run.ID {
		t.Errorf("moved to %q by %s (%v)", to, run, err)
	}
	earlier, err := c.PreviousAssets(ctx, c.pair.ID, "new")
	if err != nil || len(earlier) != 1 || earlier[0].Key != "old" || earlier[0].Asset != "asset of old" || len(earlier[0].Checksum) != 32 || !earlier[0].Done || earlier[0].Run.Num != c.run.Num {
		t.Errorf("earlier: %+v (%v)", earlier, err)
	}
	if o, err := c.Orphan(ctx, c.pair.ID, "gone"); err != nil || o.Runs != 1 || !o.Since.Equal(c.run.ListedAt) {
		t.Errorf("orphan: %+v (%v)", o, err)
	}
	st, err := c.Backlog(ctx, c.pair.ID)
	if err != nil || st.Orphans != (ReceiptSum{1, 10}) || !st.OrphansSince.Equal(c.run.ListedAt) || st.Failing != 0 {
		t.Errorf("standing: %+v (%v)", st, err)
	}
	var back []sources.Key
	for _, f := range collect(t, c.Recovered(ctx, c.run, c.runs[0].Num)) {
		back = append(back, f.Key)
	}
	if !slices.Equal(back, []sources.Key{"failing"}) {
		t.Errorf("recovered: %v", back)
	}
	if before, err := c.FinishedBefore(ctx, c.run, 9); err != nil || len(before) != 1 || before[0].Num != c.runs[0].Num {
		t.Errorf("before it: %+v (%v)", before, err)
	}
}

// TestNewSkipsOfEachReason verifies that each of several reasons is counted, including the last.
func TestNewSkipsOfEachReason(t *testing.T) {
	j := begin(t)
	j.stage("a", "b", "c", "d")
	var items []Item
	for _, key := range []string{"a", "b", "c", "d"} {
		i := decided(key, Skip, ItemSkipped)
		i.Reason = "because of " + key
		items = append(items, i)
	}
	must(t, j.Decided(t.Context(), j.run.Num, items))
	var keys []sources.Key
	for _, k := range collect(t, j.NewSkips(t.Context(), j.run, []string{"because of b", "because of a", "because of c"})) {
		keys = append(keys, k.Key)
	}
	if !slices.Equal(keys, []sources.Key{"a", "b", "c"}) {
		t.Errorf("got %v", keys)
	}
}

// TestMetUnsized verifies when a run counts as having met all obstacles: it listed all of them,
// none could be read, and none had a known size.
func TestMetUnsized(t *testing.T) {
	c := newCalendar(t)
	ctx := t.Context()
	c.begin("sync")
	var items []Item
	for _, key := range []string{"a/", "b/"} {
		i := decided(key, Skip, ItemFailed)
		i.Size, i.Obstacle = 0, sources.UnreadableDirectory
		items = append(items, i)
	}
	sized := decided("sized", Skip, ItemFailed)
	sized.Obstacle = sources.Unreadable
	skipped := decided("skipped", Skip, ItemSkipped)
	skipped.Size, skipped.Obstacle = 0, sources.Symlink
	items = append(items, sized, skipped)
	must(t, c.Stage(ctx, c.run.Num, Page{Done: true, Items: items}))
	must(t, c.Decided(ctx, c.run.Num, items))
	for _, tc := range []struct {
		run  int64
		keys []sources.Key
		want bool
	}{
		{c.run.Num, []sources.Key{"a/"}, true},
		{c.run.Num, []sources.Key{"a/", "b/"}, true},
		{c.run.Num, []sources.Key{"a/", "c/"}, false},
		{c.run.Num, []sources.Key{"sized"}, false},
		{c.run.Num, []sources.Key{"a/", "skipped"}, false},
		{c.run.Num + 1, []sources.Key{"a/"}, false},
	} {
		if met, err := c.MetUnsized(ctx, tc.run, tc.keys); err != nil || met != tc.want {
			t.Errorf("run %d, %v: %v (%v), want %v", tc.run, tc.keys, met, err, tc.want)
		}
	}
}
