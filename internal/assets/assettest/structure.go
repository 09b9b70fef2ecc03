package assettest

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/assets"
)

func structureLaws() []law {
	return []law{
		{"first contact", testFirstContact},
		{"categories", testCategories},
		{"duplicate category names", testEqualCategories},
		{"configure a category", testConfigure},
		{"extensions in use", testExtensionsInUse},
		{"add an extension", testAddExtension},
		{"delete a category", testDeleteCategory},
		{guess("order of categories"), testCategoryOrder},
		{"folders", testFolders},
		{guess("list nested folders by level"), testNestedFolders},
		{guess("read the branch of a folder"), testBranch},
		{"rename a folder", testRenameFolder},
		{"delete a folder", testDeleteFolder},
		{"duplicate folder names", testEqualFolders},
	}
}

func testFirstContact(t *testing.T, s *scratch) {
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Limits(t.Context()); err != nil {
		t.Error(err)
	}
	if skew, known := s.Skew(); !known || skew.Abs() > 5*60e9 {
		t.Errorf("skew: got %v, %v", skew, known)
	}
}

func testCategories(t *testing.T, s *scratch) {
	name := unique("Kategorie Ü \U0001F600")
	id := s.newCategory(t, name)
	check := func(from string, c assets.Category) {
		slices.Sort(c.Extensions)
		if c.ID != id || c.Name != name || !slices.Equal(c.Extensions, []string{"jpg", "png", "txt"}) || c.Private {
			t.Errorf("%s: got %+v", from, c)
		}
	}
	got, err := s.Category(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	check("by ID", got)
	found := 0
	for c, err := range s.Categories(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.ID == id {
			found++
			check("listed", c)
		}
	}
	if found != 1 {
		t.Errorf("the category is listed %d times", found)
	}
}

func testEqualCategories(t *testing.T, s *scratch) {
	name := unique("same")
	if a, b := s.newCategory(t, name), s.newCategory(t, name); a == b {
		t.Errorf("both have the ID %s", a)
	}
}

func testFolders(t *testing.T, s *scratch) {
	name := unique("Ordner Ü")
	id := s.newFolder(t, assets.NewFolder{Name: name, CategoryID: s.category})
	nested := s.newFolder(t, assets.NewFolder{Name: "nested", ParentID: id})
	all, err := s.Folders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(f assets.Folder) bool { return f.ID == id })
	if i < 0 {
		t.Fatal("not listed")
	}
	if f := all[i]; f.Name != name || f.CategoryID != s.category || f.ParentID != "" {
		t.Errorf("got %+v", f)
	}
	if slices.ContainsFunc(all, func(f assets.Folder) bool { return f.ID == nested }) {
		t.Error("a nested folder is listed at the top level")
	}
}

func testNestedFolders(t *testing.T, s *scratch) {
	top := s.newFolder(t, assets.NewFolder{Name: "top", CategoryID: s.category})
	var children []string
	for _, name := range []string{"a", "b"} {
		children = append(children, s.newFolder(t, assets.NewFolder{Name: name, ParentID: top}))
	}
	s.newFolder(t, assets.NewFolder{Name: "deeper", ParentID: children[0]})
	f, err := s.Folder(t.Context(), top, 1)
	if err != nil {
		t.Fatal(err)
	}
	if f.ID != top || f.Name != "top" || f.CategoryID != s.category {
		t.Errorf("got %+v", f)
	}
	var got []string
	for _, child := range f.Folders {
		got = append(got, child.ID)
		if child.ParentID != "" && child.ParentID != top {
			t.Errorf("parent of %s: got %s, want %s", child.Name, child.ParentID, top)
		}
	}
	if !slices.Equal(sorted(got), sorted(children)) {
		t.Errorf("children: got %v, want %v", got, children)
	}
}

func testEqualFolders(t *testing.T, s *scratch) {
	n := assets.NewFolder{Name: "same", CategoryID: s.category}
	if a, b := s.newFolder(t, n), s.newFolder(t, n); a == b {
		t.Errorf("both have the ID %s", a)
	}
}

// The order of the answer, outermost folder first with the others nested, is a guess.
func testBranch(t *testing.T, s *scratch) {
	var want []string
	parent := assets.NewFolder{Name: "0", CategoryID: s.category}
	for _, name := range []string{"0", "1", "2"} {
		parent.Name = name
		id := s.newFolder(t, parent)
		parent = assets.NewFolder{ParentID: id}
		want = append(want, id)
	}
	below := s.newFolder(t, assets.NewFolder{Name: "below", ParentID: want[2]})
	s.newFolder(t, assets.NewFolder{Name: "beside", ParentID: want[0]})
	way, err := s.Branch(t.Context(), want[2], 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range way {
		got = append(got, f.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if inside := way[2].Folders; len(inside) != 1 || inside[0].ID != below {
		t.Errorf("folders inside: got %+v, want %s", inside, below)
	}
}

func testRenameFolder(t *testing.T, s *scratch) {
	id := s.newFolder(t, assets.NewFolder{Name: "before", CategoryID: s.category})
	if err := s.RenameFolder(t.Context(), id, "after ü"); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Folder(t.Context(), id, 1); err != nil || f.Name != "after ü" {
		t.Errorf("got %+v, %v", f, err)
	}
	for _, name := range []string{"", strings.Repeat("x", 257)} {
		if err := s.RenameFolder(t.Context(), id, name); err == nil {
			t.Errorf("a name of %d characters was accepted", len(name))
		}
	}
}

// Deleting a folder moves its contents one level up.
func testDeleteFolder(t *testing.T, s *scratch) {
	top := s.newFolder(t, assets.NewFolder{Name: "top", CategoryID: s.category})
	middle := s.newFolder(t, assets.NewFolder{Name: "middle", ParentID: top})
	inner := s.newFolder(t, assets.NewFolder{Name: "inner", ParentID: middle})
	a := s.uploadTo(t, assets.Upload{FolderID: middle, Filename: "a.txt"}, []byte("x"))
	check := func(folder string) {
		t.Helper()
		if got, err := s.Asset(t.Context(), a.ID); err != nil || got.FolderID != folder {
			t.Errorf("asset: got %q, %v, want %q", got.FolderID, err, folder)
		}
		if got, err := s.Folder(t.Context(), inner, 1); err != nil || got.ParentID != folder {
			t.Errorf("folder: got %q, %v, want %q", got.ParentID, err, folder)
		}
	}
	for _, step := range []struct{ deleted, to string }{{middle, top}, {top, ""}} {
		if err := s.DeleteFolder(t.Context(), step.deleted); err != nil {
			t.Fatal(err)
		}
		check(step.to)
	}
	if err := s.DeleteFolder(t.Context(), top); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted again: got %v", err)
	}
}
