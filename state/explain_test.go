package state

import (
	"errors"
	"testing"

	"assetferry/sources"

	"github.com/google/go-cmp/cmp"
)

// TestExplainObject verifies that all stored data about an object is found by its key, and no data
// about others.
func TestExplainObject(t *testing.T) {
	j := begin(t)
	ctx, pair := t.Context(), j.pair.ID
	j.apply("folder/bad.jpg", "folder/good.jpg", "other/GOOD.jpg")
	j.take(3)
	bad := Outcome{Key: "folder/bad.jpg", State: ItemFailed, Class: "permanent", Error: "refused"}
	must(t, j.record(done("folder/good.jpg"), done("other/GOOD.jpg"), bad))

	stages, err := j.Stages(ctx, pair, "folder/bad.jpg")
	must(t, err)
	if len(stages) != 1 || stages[0].Run.ID != j.run.ID || stages[0].Item.State != ItemFailed || stages[0].Item.Key != "folder/bad.jpg" {
		t.Errorf("stages: %+v", stages)
	}
	attempts, err := j.Attempts(ctx, j.run.Num, "folder/bad.jpg")
	must(t, err)
	if len(attempts) != 1 || attempts[0].Number != 1 || attempts[0].Error != "refused" || attempts[0].At.IsZero() {
		t.Errorf("attempts: %+v", attempts)
	}
	f, err := j.Failure(ctx, pair, "folder/bad.jpg")
	if err != nil || f.Runs != 1 || f.Error != "refused" {
		t.Errorf("failure: %+v (%v)", f, err)
	}
	if _, err := j.Failure(ctx, pair, "folder/good.jpg"); !errors.Is(err, ErrNotFound) {
		t.Errorf("failure of what arrived: %v", err)
	}
	if _, err := j.ArrivalOf(ctx, pair, "folder/bad.jpg"); !errors.Is(err, ErrNotFound) {
		t.Errorf("arrival of what failed: %v", err)
	}
	if a, err := j.ArrivalOf(ctx, pair, "folder/good.jpg"); err != nil || a.At.IsZero() || a.Run != j.run.ID {
		t.Errorf("arrival: %+v (%v)", a, err)
	}
	if key, err := j.KeyOfAsset(ctx, pair, "asset of folder/good.jpg"); err != nil || key != "folder/good.jpg" {
		t.Errorf("by its asset: %q (%v)", key, err)
	}
	if _, err := j.KeyOfAsset(ctx, pair+1, "asset of folder/good.jpg"); !errors.Is(err, ErrNotFound) {
		t.Errorf("by the asset of another pair: %v", err)
	}
	for name, want := range map[string][]sources.Key{
		"good.jpg":       {"folder/good.jpg", "other/GOOD.jpg"},
		"bad.jpg":        {"folder/bad.jpg"},
		"folder/bad.jpg": {"folder/bad.jpg"},
		"d.jpg":          nil,
		"%.jpg":          nil,
	} {
		got, err := j.KeysEnding(ctx, pair, name, 5)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
	must(t, j.SaveFolder(ctx, j.pair.Destination, "category", "a/b", "id of a/b"))
	if path, err := j.PathOfFolder(ctx, j.pair.Destination, "category", "id of a/b"); err != nil || path != "a/b" {
		t.Errorf("folder: %q (%v)", path, err)
	}
}
