package assettest

import (
	"slices"
	"testing"

	"assetferry/internal/assets"
)

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
		t.Errorf("listed %d times", found)
	}
}

func testEqualCategories(t *testing.T, s *scratch) {
	name := unique("twin")
	if a, b := s.newCategory(t, name), s.newCategory(t, name); a == b {
		t.Errorf("got %s twice", a)
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
		t.Error("a nested folder is among those of the top level")
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
	n := assets.NewFolder{Name: "twin", CategoryID: s.category}
	if a, b := s.newFolder(t, n), s.newFolder(t, n); a == b {
		t.Errorf("got %s twice", a)
	}
}
