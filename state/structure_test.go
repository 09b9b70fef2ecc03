package state

import (
	"fmt"
	"testing"
)

// TestMissingFolders verifies that unknown folders are counted with their parents, each once.
func TestMissingFolders(t *testing.T) {
	j := begin(t)
	ctx, to := t.Context(), j.pair.Destination
	var items []Item
	for n, place := range [][2]string{
		{"c", "a/b/c"}, {"c", "a/b/c"}, {"c", "a/b"}, {"c", "a/bc"}, {"c", ""}, {"d", "a"}, {"new:Other", "x/y"},
		{"c", "there/new"}, {"c", "there"}, {"c", "there/other"},
	} {
		i := staged(fmt.Sprintf("%02d", n))
		i.Action, i.State, i.Category, i.Folder = Create, ItemPlanned, place[0], place[1]
		items = append(items, i)
	}
	adopted := staged("99")
	adopted.Action, adopted.State, adopted.Category, adopted.Folder = Adopt, ItemPlanned, "c", "adopted"
	items = append(items, adopted)
	must(t, j.SaveFolder(ctx, to, "c", "there", "1"))
	must(t, j.SaveFolder(ctx, to, "other", "a", "2"))
	must(t, j.SaveFolder(ctx, "elsewhere", "c", "a", "3"))
	must(t, j.Stage(ctx, j.run.Num, Page{Items: items, Done: true}))
	must(t, j.Decided(ctx, j.run.Num, items))

	// c: a, a/b, a/b/c, a/bc, there/new, there/other; d: a; Other: x, x/y. They are
	// looked for in c, d, Other and c/there.
	missing, around, err := j.MissingFolders(ctx, j.run.Num, to)
	if err != nil || missing != 9 || around != 4 {
		t.Errorf("%d missing, %d around them (%v), want 9 and 4", missing, around, err)
	}
}
