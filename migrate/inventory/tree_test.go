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

// TestFolderMadeWhileItsLevelIsForgotten verifies that a folder which is created while another
// worker forgets its level does not count as the only one: the other folders would be created a
// second time.
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

// TestTreeAddsToWhatIsAsked verifies that a folder which is created while an older answer is still
// to come is not created again.
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

// TestTreeKeepsWhatIsMadeInAnotherCategory verifies that an answer requested for one category does
// not hide a folder that was created in another category in the meantime, although the answer lists
// the folders of all categories.
func TestTreeKeepsWhatIsMadeInAnotherCategory(t *testing.T) {
	var late lateFolders
	tree := NewTree(&late)
	texts, images := Level{Category: "texts"}, Level{Category: "images"}
	want := func(l Level, id string) {
		t.Helper()
		if got, err := tree.Child(t.Context(), l, "twins"); got != id || err != nil {
			t.Errorf("in %s: got %q and %v, want %q", l.Category, got, err, id)
		}
	}
	want(texts, "")
	late.before = func() { tree.Add(texts, "twins", "made") }
	late.folders = []assets.Folder{{ID: "other", Name: "other", CategoryID: "texts"}}
	want(images, "")
	want(texts, "made")
}

// TestForgottenLevelIsReadAgain verifies that after Forget, an answer that was requested earlier is
// not used.
func TestForgottenLevelIsReadAgain(t *testing.T) {
	for _, l := range []Level{{"c", ""}, {"c", "parent"}} {
		var late lateFolders
		tree := NewTree(&late)
		late.before = func() {
			late.before = nil
			tree.Forget(l)
			late.next = []assets.Folder{{ID: "shown", Name: "lost", CategoryID: "c"}}
		}
		if id, err := tree.Child(t.Context(), l, "lost"); id != "shown" || err != nil {
			t.Errorf("%+v: got %q and %v, want the folder that showed up", l, id, err)
		}
	}
}

// lateFolders returns the folders as they were before the function before ran.
type lateFolders struct {
	migrate.Reader
	before        func()
	folders, next []assets.Folder // next: of the answers after that
}

func (l *lateFolders) answer() []assets.Folder {
	was := l.folders
	if l.before != nil {
		l.before()
	}
	if l.next != nil {
		l.folders = l.next
	}
	return was
}

func (l *lateFolders) Folders(context.Context) ([]assets.Folder, error) { return l.answer(), nil }

func (l *lateFolders) Folder(context.Context, string, int) (assets.Folder, error) {
	return assets.Folder{Folders: l.answer()}, nil
}
