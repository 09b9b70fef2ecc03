package inventory

import (
	"context"
	"testing"

	"assetferry/internal/assets"
	"assetferry/migrate"
)

// oneCategory is a destination with these folders at the top of category 1.
type oneCategory struct {
	migrate.Reader
	folders []assets.Folder
}

func (d *oneCategory) Folders(context.Context) ([]assets.Folder, error) { return d.folders, nil }

// While a folder is being made, another worker may find out that what is known of
// the category is wrong. The new folder must not pass for the only one then: the
// others would be made a second time.
func TestFolderMadeWhileItsLevelIsForgotten(t *testing.T) {
	d := &oneCategory{folders: []assets.Folder{{ID: "a", Name: "a", CategoryID: "1"}}}
	tree, top := NewTree(d), Level{"1", ""}
	want := func(name, id string) {
		t.Helper()
		if got, err := tree.Child(t.Context(), top, name); err != nil || got != id {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, id)
		}
	}
	want("b", "")
	tree.ForgetAll("1")
	d.folders = append(d.folders, assets.Folder{ID: "b", Name: "b", CategoryID: "1"})
	tree.Add(top, "b", "b")
	want("a", "a")
	want("b", "b")
}

// A folder that is made while an answer from before is on its way is not made again.
func TestTreeAddsToWhatIsAsked(t *testing.T) {
	var late lateFolders
	tree := NewTree(&late)
	level := Level{"c", "parent"}
	late.before = func() { tree.Add(level, "twins", "made") }
	for range 2 {
		if id, err := tree.Child(t.Context(), level, "twins"); id != "made" || err != nil {
			t.Errorf("got %q and %v, want the folder that was made", id, err)
		}
	}
}

// lateFolders give an answer from before something happened.
type lateFolders struct {
	migrate.Reader
	before func()
}

func (l *lateFolders) Folder(context.Context, string, int) (assets.Folder, error) {
	l.before()
	return assets.Folder{}, nil
}
