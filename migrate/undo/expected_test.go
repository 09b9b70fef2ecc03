package undo

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/test/seedtest"
	"assetferry/state"
)

// creating returns the assets of some receipts, as if the undone run had created them.
func creating(receipts ...state.Receipt) *createdAssets {
	c := &createdAssets{seed: maphash.MakeSeed()}
	for _, r := range receipts {
		e := entryOf(r)
		c.all = append(c.all, createdAsset{sum: c.sum(&e), modified: millis(r.Modified)})
	}
	c.sort()
	return c
}

func entryOf(r state.Receipt) state.Entry {
	return state.Entry{Asset: r.Asset, Name: r.Name, Extension: r.Extension, Category: r.Category, Folder: r.Folder, Size: r.Size}
}

// TestIsUnchanged compares the quick comparison of listed assets with the complete one, for random
// changes of an asset and of what is known about it.
func TestIsUnchanged(t *testing.T) {
	random := seedtest.Rand(t)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	seen := map[bool]int{}
	for range 20_000 {
		r := state.Receipt{Asset: "id", Name: "a", Extension: "jpg", Category: "c", Folder: "f", Modified: at}
		r.Size = 3
		a := assets.Asset{ID: "id", Name: "a", Extension: "jpg", Size: 3, CategoryID: "c", FolderID: "f", UploadedAt: at, LastModifiedAt: at}
		for range random.IntN(3) {
			changeOne(random, &r, &a)
		}
		changed := changedParts(r, metadata.Metadata{}, a)
		plain := a.Metadata.Description == "" && len(a.Tags)+len(a.Metadata.CustomAttributes) == 0
		want := len(changed) == 0 && plain && a.Name == r.Name
		c := creating(r, state.Receipt{Asset: "other"})
		got, isFirst := c.isUnchanged(a, true)
		if _, again := c.isUnchanged(a, true); isFirst != want || again {
			t.Fatalf("first: %v, then %v, want %v, then false", isFirst, again, want)
		}
		if got != want {
			t.Fatalf("unchanged: %v, want %v\n%+v\n%+v\nchanged: %q", got, want, r, a, changed)
		}
		e := entryOf(r)
		if f, listed := c.finding(&e); listed != want || listed && f != (finding{shared: true}) {
			t.Fatalf("found %+v, %v", f, listed)
		}
		seen[got]++
	}
	if seen[true] < 100 || seen[false] < 100 {
		t.Errorf("unchanged or not: %v", seen)
	}
}

// changeOne makes a change to an asset or to its receipt.
func changeOne(random *rand.Rand, r *state.Receipt, a *assets.Asset) {
	later := []time.Duration{time.Millisecond, time.Second, 2 * time.Second, 5 * time.Minute, time.Hour}[random.IntN(5)]
	changes := []func(){
		func() { a.Name = "b" }, func() { a.Extension = "" }, func() { a.Size++ }, func() { a.CategoryID = "d" }, func() { a.FolderID = "" },
		func() { r.Name, a.Name = "e\u0301", "\u00e9" },
		func() { a.LastModifiedAt = a.LastModifiedAt.Add(later) }, func() { a.LastModifiedAt = time.Time{} }, func() { a.UploadedAt = time.Time{} },
		func() { r.Modified = time.Time{} }, func() { r.Modified = time.UnixMilli(0).UTC() }, func() { a.Metadata.Status = assets.Success },
		func() { a.Metadata.Description = "d" }, func() { a.Tags = []string{"t"} }, func() { a.Metadata.CustomAttributes = map[string]any{"k": 1} },
		func() { a.Metadata.CustomAttributes = map[string]any{} },
	}
	changes[random.IntN(len(changes))]()
}

// TestLastFinding verifies that the last listing of an asset counts, and that only assets that the
// run created are known.
func TestLastFinding(t *testing.T) {
	r := state.Receipt{Asset: "id", Name: "a"}
	c := creating(r)
	e := entryOf(r)
	for n, want := range []finding{{}, {changed: "name"}, {shared: true}, {}, {shared: true, changed: "name"}} {
		if isFirst := c.note(c.of(r), want); isFirst != (n == 0) {
			t.Errorf("listing %d: first is %v", n, isFirst)
		}
		if got, listed := c.finding(&e); got != want || !listed {
			t.Errorf("got %+v (%v), want %+v", got, listed, want)
		}
	}
	if len(c.findings) != 4 {
		t.Errorf("findings: %+v", c.findings)
	}
	if c.of(state.Receipt{Asset: "other"}) != nil {
		t.Error("another asset was found")
	}
}

// TestAmbiguous verifies that no listing decides about assets with the same sum.
func TestAmbiguous(t *testing.T) {
	r := state.Receipt{Asset: "id", Name: "a"}
	c := creating(r, state.Receipt{Asset: "other"}, r)
	if is, _ := c.isUnchanged(assets.Asset{ID: "id", Name: "a"}, false); is || c.of(r) != nil {
		t.Error("one of two was found")
	}
	if is, _ := c.isUnchanged(assets.Asset{ID: "other"}, false); !is {
		t.Error("the other one was not found")
	}
}

// TestOverview verifies when an overview has all items of an undo.
func TestOverview(t *testing.T) {
	var v overview
	store, err := state.Open(context.Background(), t.TempDir()+"/state.db")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := v.begin(t.Context(), store, state.Run{Num: 1}); err != nil || !v.whole {
		t.Fatalf("whole: %v (%v)", v.whole, err)
	}
	v.add(&state.Item{Action: state.Trash, State: state.ItemPlanned})
	if !v.isDecided() {
		t.Error("an item is left to be decided")
	}
	v.add(&state.Item{State: state.ItemStaged})
	if v.isDecided() {
		t.Error("no item is left to be decided")
	}
	if all := v.sums.Tallies(); len(all) != 2 || !slices.ContainsFunc(all, func(t state.Tally) bool { return t.State == state.ItemStaged && t.Objects == 1 }) {
		t.Errorf("tallies: %+v", all)
	}
	if v.changed(); v.whole || v.isDecided() {
		t.Error("it is whole")
	}
}
