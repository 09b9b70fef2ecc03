package state

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

// finished returns a state database with a run that created two assets, one of them with a
// description, and adopted one.
func finished(t *testing.T) *journey {
	j := begin(t)
	j.apply("adopted", "made", "other")
	j.take(3)
	adopted, made := done("adopted"), done("made")
	adopted.Receipt.Adopted = true
	made.Receipt.Description = &Description{ContentType: "image/jpeg"}
	must(t, j.record(adopted, made, done("other")))
	must(t, j.FinishRun(t.Context(), j.run.Num))
	return j
}

// entryOf returns the asset of a receipt as an UndoReader lists it.
func entryOf(r *Receipt) Entry {
	return Entry{Asset: r.Asset, Category: r.Category, Folder: r.Folder, Name: r.Name, Extension: r.Extension, Size: r.Size}
}

// undo plans to trash all assets that the run created, and takes the items.
func (j *journey) undo() Run {
	j.Helper()
	u, err := j.BeginUndo(j.Context(), j.run)
	must(j, err)
	must(j, j.stageUndo(u))
	var items []Item
	for _, i := range collect(j, j.Items(j.Context(), u.Num)) {
		i.Action, i.Reason, i.State = Trash, "because", ItemPlanned
		items = append(items, i)
	}
	must(j, j.Decided(j.Context(), u.Num, items))
	must(j, j.FinishPlan(j.Context(), u.Num, "hash", json.RawMessage("[]")))
	must(j, j.SetRunState(j.Context(), u.Num, Planned, Applying))
	_, err = j.Take(j.Context(), u.Num, Next{After: "", N: len(items), Time: time.Now()})
	must(j, err)
	return u
}

// stageUndo stages all items of an undo, without decisions.
func (j *journey) stageUndo(u Run) error {
	j.Helper()
	reader, err := j.ReadUndo(j.Context(), u)
	must(j, err)
	var items []Item
	for _, c := range collect(j, reader.Candidates(j.Context())) {
		if c.Shared != "" {
			c.Action, c.Reason, c.State, c.Error = Conflict, "shared", ItemConflict, "shared: "+c.Shared
		}
		items = append(items, c.Item)
	}
	if err := j.StageUndo(j.Context(), u.Num, items); err != nil {
		return err
	}
	_, err = j.FinishStagingUndo(j.Context(), u, "later")
	return err
}

func (j *journey) wantSound() {
	j.Helper()
	problems, err := j.Check(j.Context())
	must(j, err)
	if len(problems) > 0 {
		j.Errorf("the state database is not sound: %q", problems)
	}
}

// TestStageUndo verifies that the items of an undo are those that the run created, with the places
// of their assets.
func TestStageUndo(t *testing.T) {
	j := finished(t)
	u, err := j.BeginUndo(t.Context(), j.run)
	must(t, err)
	if u.Undoes != j.run.Num || u.Command != "undo" || u.State != Scanning {
		t.Errorf("got %+v", u)
	}
	must(t, j.stageUndo(u))
	want := Item{Object: sources.Object{Key: "made", Size: 10, Time: modified, VersionTag: "v1"}, State: ItemStaged,
		Category: "category", Folder: "folder", Name: "made.jpg", Slot: 7, Asset: "asset of made"}
	got := collect(t, j.Items(t.Context(), u.Num))
	if len(got) != 2 {
		t.Fatalf("%d items, want 2: %v", len(got), got)
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	if is, err := j.IsUndoable(t.Context(), j.run); err != nil || !is {
		t.Errorf("undoable: %t (%v)", is, err)
	}
	reader, err := j.ReadUndo(t.Context(), u)
	must(t, err)
	created := collect(t, reader.Creations(t.Context()))
	if len(created) != 2 || created[0].key != "made" || created[0].Entry != entryOf(receipt("made", "asset of made")) {
		t.Errorf("created: %+v", created)
	}
	for _, c := range collect(t, reader.Candidates(t.Context())) {
		if !c.Created || c.Shared != "" || c.Listed != entryOf(receipt(string(c.Key), "asset of "+string(c.Key))) {
			t.Errorf("candidate: %+v", c)
		}
	}
	if n, err := reader.CountChanges(t.Context()); err != nil || n != 0 {
		t.Errorf("%d changes (%v)", n, err)
	}
	if err := j.stageUndo(u); !errors.Is(err, ErrConflict) {
		t.Errorf("staged twice: %v", err)
	}
}

// TestDecideUndo verifies that a decision changes only its own columns of an item, and that none is
// stored if one of them is about an item that the undo does not have.
func TestDecideUndo(t *testing.T) {
	j := finished(t)
	ctx := t.Context()
	u, err := j.BeginUndo(ctx, j.run)
	must(t, err)
	must(t, j.stageUndo(u))
	trash := Item{Object: sources.Object{Key: "other"}, Action: Trash, Reason: "because", State: ItemPlanned}
	touched := Item{Object: sources.Object{Key: "made"}, Action: Conflict, Reason: "touched", State: ItemConflict, Error: "name"}
	if err := j.DecideUndo(ctx, u.Num, []Item{trash, {Object: sources.Object{Key: "adopted"}, Action: Trash, State: ItemPlanned}}); !errors.Is(err, ErrConflict) {
		t.Errorf("something else was decided about: %v", err)
	}
	want := collect(t, j.Items(ctx, u.Num))
	if want[1].State != ItemStaged {
		t.Errorf("a half of that is stored: %+v", want[1])
	}
	must(t, j.DecideUndo(ctx, u.Num, []Item{trash, touched}))
	want[0].Action, want[0].Reason, want[0].State, want[0].Error = Conflict, "touched", ItemConflict, "name"
	want[1].Action, want[1].Reason, want[1].State = Trash, "because", ItemPlanned
	if diff := cmp.Diff(want, collect(t, j.Items(ctx, u.Num))); diff != "" {
		t.Error(diff)
	}
}

// TestSumUndone verifies that an undone item keeps neither its receipt nor data that depends on it,
// and that a refused one keeps both. A refusal is no failure of the object.
func TestSumUndone(t *testing.T) {
	j := finished(t)
	ctx := t.Context()
	u := j.undo()
	must(t, j.Record(ctx, u.Num, j.pair.ID, []Outcome{
		{Key: "made", State: ItemDone, Undone: true},
		{Key: "other", State: ItemFailed, Class: "permanent", Error: "refused"},
	}))
	must(t, j.FinishUndo(ctx, u))
	if _, err := j.Receipt(ctx, j.pair.ID, "made"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the receipt is still there: %v", err)
	}
	if _, err := j.Description(ctx, j.pair.ID, "made"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the description is still there: %v", err)
	}
	if sum, err := j.SumReceipts(ctx, j.pair.ID); err != nil || sum.Objects != 2 {
		t.Errorf("receipts: %+v (%v), want the adopted and the refused one", sum, err)
	}
	if blamed := collect(t, j.Failures(ctx, j.pair.ID, "")); len(blamed) > 0 {
		t.Errorf("blamed: %v", blamed)
	}
	if sum, err := j.SumUndone(ctx, j.run.Num); err != nil || sum != (ReceiptSum{1, 10}) {
		t.Errorf("taken back: %+v (%v)", sum, err)
	}
	if by, err := j.UndoneBy(ctx, j.run.Num); err != nil || len(by) != 1 || by[0].ID != u.ID || by[0].State != Finished {
		t.Errorf("undone by %+v (%v)", by, err)
	}
	j.wantSound()
}

// TestFinishUndoForgets verifies that the data of assets that were deleted already is deleted when
// the undo finishes, and not before.
func TestFinishUndoForgets(t *testing.T) {
	j := finished(t)
	ctx := t.Context()
	u, err := j.BeginUndo(ctx, j.run)
	must(t, err)
	must(t, j.stageUndo(u))
	items := collect(t, j.Items(ctx, u.Num))
	for n := range items {
		items[n].Action, items[n].State = Skip, ItemSkipped
	}
	items[1].Action, items[1].State = Conflict, ItemConflict
	must(t, j.Decided(ctx, u.Num, items))
	must(t, j.FinishPlan(ctx, u.Num, "hash", json.RawMessage("[]")))
	must(t, j.SetRunState(ctx, u.Num, Planned, Applying))
	if sum, err := j.SumReceipts(ctx, j.pair.ID); err != nil || sum.Objects != 3 {
		t.Errorf("before: %+v (%v)", sum, err)
	}
	must(t, j.FinishUndo(ctx, u))
	if _, err := j.Receipt(ctx, j.pair.ID, "made"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is still remembered: %v", err)
	}
	if _, err := j.Receipt(ctx, j.pair.ID, "other"); err != nil {
		t.Errorf("what is in conflict is forgotten: %v", err)
	}
	j.wantSound()
}

// TestBeginUndo verifies that an undo supersedes an unfinished run, unless uploads are in progress,
// and that no other run may be active.
func TestBeginUndo(t *testing.T) {
	open := func(t *testing.T, taken int) *journey {
		j := begin(t)
		j.apply("a", "b")
		j.take(taken)
		return j
	}
	t.Run("finished", func(t *testing.T) {
		j := finished(t)
		u := j.undo()
		if _, err := j.BeginUndo(t.Context(), j.run); !errors.Is(err, ErrConflict) {
			t.Errorf("while another undo is under way: %v", err)
		}
		if _, err := j.BeginUndo(t.Context(), u); !errors.Is(err, ErrConflict) {
			t.Errorf("of an undo: %v", err)
		}
	})
	t.Run("nothing in flight", func(t *testing.T) {
		j := open(t, 0)
		_, err := j.BeginUndo(t.Context(), j.run)
		must(t, err)
		if got := j.reload(); got.State != Superseded {
			t.Errorf("the run is %s", got.State)
		}
	})
	t.Run("in flight", func(t *testing.T) {
		j := open(t, 1)
		if _, err := j.BeginUndo(t.Context(), j.run); !errors.Is(err, ErrConflict) {
			t.Errorf("got %v", err)
		}
		if got := j.reload(); got.State != Applying {
			t.Errorf("the run is %s", got.State)
		}
		if _, err := j.PlanUndo(t.Context(), j.run); err != nil {
			t.Errorf("a plan is no harm: %v", err)
		}
		if by, err := j.UndoneBy(t.Context(), j.run.Num); err != nil || len(by) > 0 {
			t.Errorf("a plan undoes nothing: %v (%v)", by, err)
		}
	})
}

// TestTrashingIsNoUnconfirmedOfOthers verifies that assets which another source is trashing do not
// count as its unconfirmed uploads.
func TestTrashingIsNoUnconfirmedOfOthers(t *testing.T) {
	j := finished(t)
	j.undo()
	other, err := j.Pair(t.Context(), "another source", j.pair.Destination, "")
	must(t, err)
	if n, _, err := j.OthersUnconfirmed(t.Context(), other, time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Errorf("%d unconfirmed (%v)", n, err)
	}
}

// TestReceiptsOf verifies that receipts are found by asset ID, including those of other sources.
func TestReceiptsOf(t *testing.T) {
	j := finished(t)
	ctx := t.Context()
	assets := []string{"asset of made", "nobody's"}
	receipts, err := j.ReceiptsOf(ctx, j.pair.ID, assets)
	if err != nil || len(receipts) != 1 || receipts["asset of made"].Key != "made" {
		t.Errorf("got %+v (%v)", receipts, err)
	}
	other, err := j.Pair(ctx, "another source", j.pair.Destination, "")
	must(t, err)
	if shared, err := j.SharedAssets(ctx, other, assets); err != nil || len(shared) != 1 || !shared["asset of made"] {
		t.Errorf("shared: %v (%v)", shared, err)
	}
	if shared, err := j.SharedAssets(ctx, j.pair, assets); err != nil || len(shared) > 0 {
		t.Errorf("with itself: %v (%v)", shared, err)
	}
	if none, err := j.ReceiptsOf(ctx, j.pair.ID, nil); err != nil || len(none) > 0 {
		t.Errorf("of no assets: %v (%v)", none, err)
	}
}

// TestModified verifies that the time of the last change of an asset is stored, and that metadata
// updates change it.
func TestModified(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	j.apply("known", "later", "unknown")
	j.take(3)
	first, second := modified.Truncate(time.Millisecond), modified.Truncate(time.Millisecond).Add(time.Hour)
	known, later := done("known"), done("later")
	known.Receipt.Modified, later.Receipt.Modified, later.State = first, first, ItemSent
	must(t, j.record(known, later, done("unknown")))
	must(t, j.record(Outcome{Key: "later", State: ItemDone, Modified: second}))
	for key, want := range map[string]time.Time{"known": first, "later": second, "unknown": {}} {
		if r, err := j.Receipt(ctx, j.pair.ID, sources.Key(key)); err != nil || !r.Modified.Equal(want) {
			t.Errorf("%s: %v (%v), want %v", key, r.Modified, err, want)
		}
	}
}
