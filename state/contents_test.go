package state

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContents verifies that only contents of equal size are recorded, and that only those remain
// that are identical as far as they were read.
func TestContents(t *testing.T) {
	j := begin(t)
	ctx, run := t.Context(), j.run.Num
	var items []Item
	for _, i := range []struct {
		key    string
		size   int64
		action Action
		state  ItemState
	}{
		{"a", 5, Create, ItemPlanned}, {"b", 5, Create, ItemPlanned}, {"c", 5, Create, ItemPlanned}, {"d", 7, Create, ItemPlanned},
		{"e", 7, Create, ItemPlanned}, {"f", 9, Create, ItemPlanned}, {"g", 9, Skip, ItemSkipped}, {"h", 0, Create, ItemPlanned}, {"i", 0, Create, ItemPlanned},
	} {
		item := staged(i.key)
		item.Size, item.Action, item.State = i.size, i.action, i.state
		items = append(items, item)
	}
	must(t, j.Stage(ctx, run, Page{Items: items, Done: true}))
	must(t, j.Decided(ctx, run, items))

	for range 2 { // it may be begun again
		if n, err := j.StageContents(ctx, run); err != nil || n != 5 {
			t.Fatalf("%d contents (%v), want 5", n, err)
		}
	}
	must(t, j.SaveChecksums(ctx, run, []Content{{"a", 5, []byte("x")}, {"b", 5, []byte("y")}, {"c", 5, []byte("x")}, {"d", 7, []byte("x")}, {"e", 7, nil}}))
	must(t, j.KeepIdentical(ctx, run))
	want := []Content{{"a", 5, []byte("x")}, {"c", 5, []byte("x")}}
	if diff := cmp.Diff(want, collect(t, j.Contents(ctx, run))); diff != "" {
		t.Error(diff)
	}
	got, err := j.IdenticalContents(ctx, run, 9)
	must(t, err)
	if diff := cmp.Diff(IdenticalSum{Groups: 1, Spare: 5, Some: []IdenticalGroup{{"a", "c", 2, 5}}}, got); diff != "" {
		t.Error(diff)
	}
	must(t, j.DropContents(ctx))
	if left := collect(t, j.Contents(ctx, run)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if got, err := j.IdenticalContents(ctx, run, 9); err != nil || got.Groups != 0 || got.Spare != 0 {
		t.Errorf("nothing: %+v (%v)", got, err)
	}
}

// TestEqualTags verifies that version tags count only in the form of a checksum, and only for
// objects of the same size. The groups that take most space come first.
func TestEqualTags(t *testing.T) {
	j := begin(t)
	ctx, run := t.Context(), j.run.Num
	tag := func(c string) string { return strings.Repeat(c, 32) }
	var items []Item
	for n, i := range []struct {
		size int64
		tag  string
	}{
		{10, tag("a")}, {10, tag("a")}, {10, tag("a")}, {11, tag("a")}, {10, tag("b")},
		{30, tag("c")}, {30, tag("c")},
		{40, tag("d") + "-2"}, {40, tag("d") + "-2"}, {50, tag("x")}, {50, tag("x")}, {60, ""}, {60, ""}, {0, tag("e")}, {0, tag("e")},
	} {
		item := staged(fmt.Sprintf("%02d", n))
		item.Size, item.VersionTag, item.Action, item.State = i.size, i.tag, Create, ItemPlanned
		items = append(items, item)
	}
	must(t, j.Stage(ctx, run, Page{Items: items, Done: true}))
	must(t, j.Decided(ctx, run, items))
	got, err := j.IdenticalTags(ctx, run, 1)
	must(t, err)
	if diff := cmp.Diff(IdenticalSum{Groups: 2, Spare: 50, Some: []IdenticalGroup{{"05", "06", 2, 30}}}, got); diff != "" {
		t.Error(diff)
	}
}
