package assettest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"testing"
	"time"

	"assetferry/internal/assets"
)

func uploadLaws() []law {
	return []law{
		{"upload to a category", testUploadToCategory},
		{"upload to a folder", testUploadToFolder},
		{"names", testNames},
		{guess("duplicate names"), testEqualNames},
		{"extensions ignore case", testExtensionCase},
		{"extension not allowed", testExtensionRefused},
		{"missing assets, folders and categories", testNotThere},
		{"download", testDownload},
		{guess("a category list excludes assets in folders"), testCategoryList},
		{"pages", testPages},
		{"newest first", testNewestFirst},
		{"update", testUpdate},
		{"trash", testTrash},
	}
}

func testUploadToCategory(t *testing.T, s *scratch) {
	content := []byte("hello")
	a := s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "note.v2.txt"}, content)
	check := func(a assets.Asset) {
		t.Helper()
		if a.Name != "note.v2" || a.Extension != "txt" || a.Size != 5 || a.CategoryID != s.category || a.FolderID != "" || a.URL == "" {
			t.Errorf("got %+v", a)
		}
		if age := time.Since(a.UploadedAt); age.Abs() > 10*time.Minute {
			t.Errorf("uploadedAt: got %v", a.UploadedAt)
		}
		if len(a.ImageURLs) > 0 {
			t.Errorf("text file with image URLs: %v", a.ImageURLs)
		}
	}
	check(a)
	again, err := s.Asset(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	check(again)
	if again.URL != a.URL || !again.UploadedAt.Equal(a.UploadedAt) {
		t.Errorf("got %+v, then %+v", a, again)
	}
}

func testUploadToFolder(t *testing.T, s *scratch) {
	folder := s.newFolder(t, assets.NewFolder{Name: "f", CategoryID: s.category})
	a := s.uploadTo(t, assets.Upload{FolderID: folder, Filename: "a.txt"}, []byte("x"))
	if a.FolderID != folder || a.CategoryID != s.category {
		t.Errorf("got %+v", a)
	}
}

// The service keeps names byte for byte, in any Unicode normal form.
func testNames(t *testing.T, s *scratch) {
	for _, name := range []string{
		"plain", "two words", "grüße", "gru\u0308ße", "日本語", "\U0001F600", "a+b&c=d", "100%", "100%20", "#?;,'()[]{}!$~^`",
		"a.b.c", "..a", "-dash", "_under", "a--b", "Ünïcödé (1)", "\u200bzero width", "ﬁ ligature",
	} {
		a := s.upload(t, name+".txt")
		if a.Name != name || a.Extension != "txt" {
			t.Errorf("%q: got %q and %q", name, a.Name, a.Extension)
		}
		if again, err := s.Asset(t.Context(), a.ID); err != nil || again.Name != name {
			t.Errorf("%q: read again: got %q, %v", name, again.Name, err)
		}
	}
}

func testEqualNames(t *testing.T, s *scratch) {
	a, b := s.upload(t, "same.txt"), s.upload(t, "same.txt")
	if a.ID == b.ID || a.Name != b.Name {
		t.Errorf("got %+v and %+v", a, b)
	}
	if got := s.list(t, assets.ListOptions{CategoryID: s.category}); len(got) != 2 {
		t.Errorf("got %d assets, want 2", len(got))
	}
}

func testExtensionCase(t *testing.T, s *scratch) {
	if a := s.upload(t, "LOUD.TXT"); a.Name != "LOUD" {
		t.Errorf("got %+v", a)
	}
}

func testExtensionRefused(t *testing.T, s *scratch) {
	_, err := s.try(t, assets.Upload{CategoryID: s.category, Filename: "a.exe"}, []byte("x"))
	e, ok := errors.AsType[*assets.Error](err)
	if !ok || e.Status != http.StatusBadRequest || e.Unconfirmed || e.Message == "" {
		t.Errorf("got %v", err)
	}
	if got := s.list(t, assets.ListOptions{CategoryID: s.category}); len(got) != 0 {
		t.Errorf("created %v", got)
	}
}

func testNotThere(t *testing.T, s *scratch) {
	trashed := s.upload(t, "trashed.txt").ID
	if err := s.Trash(t.Context(), trashed); err != nil {
		t.Fatal(err)
	}
	s.ids = nil
	_, asset := s.Asset(t.Context(), trashed)
	_, update := s.Update(t.Context(), trashed, assets.Changes{Name: new("x")})
	_, folder := s.Folder(t.Context(), "00000000-0000-4000-8000-000000000000", 1)
	_, category := s.Category(t.Context(), "00000000-0000-4000-8000-000000000000")
	for what, err := range map[string]error{"asset": asset, "update": update, "folder": folder, "category": category} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err := s.try(t, assets.Upload{FolderID: "00000000-0000-4000-8000-000000000000", Filename: "a.txt"}, []byte("x"))
	if e, ok := errors.AsType[*assets.Error](err); !ok || e.Status < 400 || e.Status > 499 || e.Unconfirmed {
		t.Errorf("upload to a missing folder: got %v", err)
	}
}

func testDownload(t *testing.T, s *scratch) {
	content := long(300_000)
	a := s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "d.txt"}, content)
	for _, offset := range []int64{0, 1, 150_000, int64(len(content))} {
		body, size, err := s.Download(t.Context(), a.URL, offset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		_ = body.Close()
		if err != nil || !bytes.Equal(got, content[offset:]) {
			t.Errorf("from %d: got %d bytes, %v, want %d", offset, len(got), err, int64(len(content))-offset)
		}
		if size >= 0 && size != int64(len(content)) {
			t.Errorf("from %d: size %d, want %d", offset, size, len(content))
		}
	}
}

func testCategoryList(t *testing.T, s *scratch) {
	folder := s.newFolder(t, assets.NewFolder{Name: "f", CategoryID: s.category})
	outside := s.upload(t, "outside.txt")
	inside := s.uploadTo(t, assets.Upload{FolderID: folder, Filename: "inside.txt"}, []byte("x"))
	if got := idsOf(s.list(t, assets.ListOptions{CategoryID: s.category})); !slices.Equal(got, []string{outside.ID}) {
		t.Errorf("category: got %v, want %s", got, outside.ID)
	}
	if got := idsOf(s.list(t, assets.ListOptions{FolderID: folder})); !slices.Equal(got, []string{inside.ID}) {
		t.Errorf("folder: got %v, want %s", got, inside.ID)
	}
}

func testPages(t *testing.T, s *scratch) {
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		s.upload(t, name+".txt")
	}
	for _, size := range []int{1, 3, 7, 50} {
		got := s.list(t, assets.ListOptions{CategoryID: s.category, SortBy: assets.ByName, Order: assets.Ascending, PageSize: size})
		if !slices.Equal(idsOf(got), s.ids) {
			t.Errorf("pages of %d: got %v, want %v", size, idsOf(got), s.ids)
		}
	}
}

// Confirming an upload requires a list from the newest asset back to a time.
func testNewestFirst(t *testing.T, s *scratch) {
	for _, name := range []string{"c", "a", "b"} {
		s.upload(t, name+".txt")
	}
	got := s.list(t, assets.ListOptions{CategoryID: s.category, SortBy: assets.ByUploadedAt, Order: assets.Descending, PageSize: 2})
	if !slices.Equal(sorted(idsOf(got)), sorted(s.ids)) {
		t.Errorf("got %v, want %v", idsOf(got), s.ids)
	}
	if !slices.IsSortedFunc(got, func(a, b assets.Asset) int { return b.UploadedAt.Compare(a.UploadedAt) }) {
		t.Errorf("not newest first: %+v", got)
	}
}

func testUpdate(t *testing.T, s *scratch) {
	a := s.upload(t, "before.txt")
	_, err := s.Update(t.Context(), a.ID, assets.Changes{
		Name: new("after ü"), Description: new("described"), Tags: &[]string{"one", "zwei ü"},
		CustomAttributes: map[string]any{"source": "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Asset(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "after ü" || got.Extension != "txt" || got.Metadata.Description != "described" ||
		!slices.Equal(sorted(got.Tags), []string{"one", "zwei ü"}) || got.Metadata.CustomAttributes["source"] != "x" {
		t.Errorf("got %+v", got)
	}
	if got.URL != a.URL || !got.UploadedAt.Equal(a.UploadedAt) {
		t.Errorf("URL or time of upload changed: %+v, was %+v", got, a)
	}
	got, err = s.Update(t.Context(), a.ID, assets.Changes{Tags: &[]string{}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Tags) != 0 || got.Name != "after ü" || got.Metadata.Description != "described" {
		t.Errorf("without tags: got %+v", got)
	}
}

func testTrash(t *testing.T, s *scratch) {
	stays := s.upload(t, "stays.txt")
	a, b := s.upload(t, "a.txt"), s.upload(t, "b.txt")
	if err := s.Trash(t.Context(), a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	s.ids = []string{stays.ID}
	if got := idsOf(s.list(t, assets.ListOptions{CategoryID: s.category})); !slices.Equal(got, s.ids) {
		t.Errorf("got %v, want %v", got, s.ids)
	}
	if _, err := s.Asset(t.Context(), a.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in the trash: got %v", err)
	}
}
