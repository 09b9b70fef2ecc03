package assettest

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"assetferry/internal/assets"
)

func testConfigure(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	name := unique("configured Ü")
	want := assets.NewCategory{Name: name, Extensions: []string{"txt", "gif"}, Private: true}
	if _, err := s.ConfigureCategory(t.Context(), s.category, want); err != nil {
		t.Fatal(err)
	}
	c, err := s.Category(t.Context(), s.category)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != name || !slices.Equal(sorted(c.Extensions), []string{"gif", "txt"}) || !c.Private {
		t.Errorf("got %+v", c)
	}
	if _, err := s.Asset(t.Context(), a.ID); err != nil {
		t.Errorf("asset with an allowed extension: %v", err)
	}
	want.Private = false
	if c, err := s.ConfigureCategory(t.Context(), s.category, want); err != nil || c.Private {
		t.Errorf("public category: got %+v, %v", c, err)
	}
}

// Removing an extension in use permanently deletes its files, so the client requires the extension
// as an argument.
func testExtensionsInUse(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	without := assets.NewCategory{Name: unique("without"), Extensions: []string{"jpg"}}
	_, err := s.ConfigureCategory(t.Context(), s.category, without)
	used, ok := errors.AsType[*assets.InUseError](err)
	if !ok || !slices.Equal(used.Extensions, []string{"txt"}) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Asset(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ConfigureCategory(t.Context(), s.category, without, "TXT"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Asset(t.Context(), a.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("asset with a removed extension: got %v", err)
	}
}

// Adding an extension changes no other property of the category.
func testAddExtension(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	was, err := s.CategoryInUse(t.Context(), s.category)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddExtensions(t.Context(), was, "gif"); err != nil {
		t.Fatal(err)
	}
	now, err := s.Category(t.Context(), s.category)
	if err != nil {
		t.Fatal(err)
	}
	if now.Name != was.Name || now.Private != was.Private || !slices.Equal(sorted(now.Extensions), sorted(append(slices.Clone(was.Extensions), "gif"))) {
		t.Errorf("got %+v, before %+v", now, was)
	}
	if _, err := s.Asset(t.Context(), a.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.AddExtensions(t.Context(), was, "pdf"); err == nil {
		t.Error("an outdated category was changed")
	}
}

func testDeleteCategory(t *testing.T, s *scratch) {
	id := s.newCategory(t, unique("short-lived"))
	folder := s.newFolder(t, assets.NewFolder{Name: "f", CategoryID: id})
	a := s.uploadTo(t, assets.Upload{FolderID: folder, Filename: "a.txt"}, []byte("x"))
	if _, ok := errors.AsType[*assets.InUseError](s.DeleteCategory(t.Context(), id)); !ok {
		t.Fatal("a category with files was deleted without permission")
	}
	if err := s.DeleteCategory(t.Context(), id, "txt"); err != nil {
		t.Fatal(err)
	}
	_, category := s.Category(t.Context(), id)
	_, inside := s.Folder(t.Context(), folder, 1)
	_, asset := s.Asset(t.Context(), a.ID)
	again := s.DeleteCategory(t.Context(), id)
	for what, err := range map[string]error{"category": category, "folder": inside, "asset": asset, "again": again} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// The body of the request is a guess.
func testCategoryOrder(t *testing.T, s *scratch) {
	s.newCategory(t, unique("second"))
	before := s.order(t)
	turned := slices.Clone(before)
	slices.Reverse(turned)
	if err := s.OrderCategories(t.Context(), turned); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.OrderCategories(t.Context(), before); err != nil {
			t.Errorf("restore the order: %v", err)
		}
	}()
	if got := s.order(t); !slices.Equal(got, turned) {
		t.Errorf("got %v, want %v", got, turned)
	}
	if err := s.OrderCategories(t.Context(), turned[1:]); err == nil {
		t.Error("an order without one of the categories was accepted")
	}
}

func (s *scratch) order(t *testing.T) []string {
	t.Helper()
	var ids []string
	for c, err := range s.Categories(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	return ids
}
