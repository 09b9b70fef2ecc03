package assettest

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"testing"

	"assetferry/internal/assets"
)

func trashLaws() []law {
	return []law{
		{"list the trash", testTrashed},
		{"restore", testRestore},
		{"restore to another place", testRestoreElsewhere},
		{"restore under another name", testRestoreRename},
		{guess("a name conflict stops restoring"), testRestoreTaken},
		{"validate restoring", testValidateRestore},
		{"delete permanently", testDelete},
		{guess("delete a missing asset"), testDeleteNothing},
		{guess("deleting a folder does not change the trash"), testTrashOfFolder},
		{guess("recent assets include uploads"), testRecentUpload},
		{"recent assets", testRecent},
		{guess("position in a list"), testOffset},
	}
}

func (s *scratch) trashed(t *testing.T, names ...string) (ids []string) {
	t.Helper()
	for _, name := range names {
		ids = append(ids, s.upload(t, name).ID)
	}
	if err := s.Trash(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
	return ids
}

// inTrash reports whether an asset is in the trash. It reads the list until it finds the asset.
func (s *scratch) inTrash(t *testing.T, id string) bool {
	t.Helper()
	for a, err := range s.Trashed(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if a.ID == id {
			return true
		}
	}
	return false
}

func testTrashed(t *testing.T, s *scratch) {
	ids := s.trashed(t, "a.txt", "b.txt")
	stays := s.upload(t, "stays.txt").ID
	for _, id := range ids {
		if !s.inTrash(t, id) {
			t.Errorf("%s is not in the trash", id)
		}
	}
	if s.inTrash(t, stays) {
		t.Error("an asset that was not trashed is in the trash")
	}
}

func testRestore(t *testing.T, s *scratch) {
	ids := s.trashed(t, "a.txt")
	if err := s.Restore(t.Context(), assets.Restoration{AssetID: ids[0]}); err != nil {
		t.Fatal(err)
	}
	a, err := s.Asset(t.Context(), ids[0])
	if err != nil || a.Filename() != "a.txt" || a.CategoryID != s.category {
		t.Fatalf("got %+v, %v", a, err)
	}
	if content := s.content(t, a.URL); content != "content of a.txt" {
		t.Errorf("content: got %q", content)
	}
	wantFailures(t, s.Restore(t.Context(), assets.Restoration{AssetID: ids[0]}), map[string]int{ids[0]: http.StatusNotFound})
}

func testRestoreElsewhere(t *testing.T, s *scratch) {
	ids := s.trashed(t, "a.txt")
	to, there := s.target(t)
	if err := s.Restore(t.Context(), assets.Restoration{AssetID: ids[0], Target: to}); err != nil {
		t.Fatal(err)
	}
	if got := idsOf(s.list(t, there)); !slices.Equal(got, ids) {
		t.Errorf("got %v, want %v", got, ids)
	}
}

func testRestoreRename(t *testing.T, s *scratch) {
	ids := s.trashed(t, "a.txt")
	s.upload(t, "a.txt")
	if err := s.Restore(t.Context(), assets.Restoration{AssetID: ids[0], IfTaken: assets.RenameIt}); err != nil {
		t.Fatal(err)
	}
	if got := namesOf(s.list(t, s.here())); len(slices.Compact(got)) != 2 {
		t.Errorf("got %q", got)
	}
}

func testRestoreTaken(t *testing.T, s *scratch) {
	ids := s.trashed(t, "a.txt")
	s.upload(t, "a.txt")
	wantFailures(t, s.Restore(t.Context(), assets.Restoration{AssetID: ids[0]}), map[string]int{ids[0]: http.StatusConflict})
	if !s.inTrash(t, ids[0]) {
		t.Error("the asset is no longer in the trash")
	}
}

func testValidateRestore(t *testing.T, s *scratch) {
	ids := s.trashed(t, "free.txt", "taken.txt")
	s.upload(t, "taken.txt")
	got, err := s.ValidateRestore(t.Context(), ids...)
	if err != nil {
		t.Fatal(err)
	}
	for i, conflict := range []bool{false, true} {
		want := assets.Restorability{SourceExists: true, NameConflict: conflict, ExtensionAllowed: true}
		if got[ids[i]] != want {
			t.Errorf("%s: got %+v, want %+v", ids[i], got[ids[i]], want)
		}
	}
}

func testDelete(t *testing.T, s *scratch) {
	ids := s.trashed(t, "a.txt", "b.txt")
	if err := s.Delete(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	if s.inTrash(t, ids[0]) || !s.inTrash(t, ids[1]) {
		t.Error("the trash should contain only the second asset")
	}
	if _, err := s.Asset(t.Context(), ids[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	wantFailures(t, s.Restore(t.Context(), assets.Restoration{AssetID: ids[0]}), map[string]int{ids[0]: http.StatusNotFound})
}

func testDeleteNothing(t *testing.T, s *scratch) {
	ids := s.trashed(t, "a.txt")
	if err := s.Delete(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
	wantFailures(t, s.Delete(t.Context(), ids...), map[string]int{ids[0]: http.StatusNotFound})
}

func testTrashOfFolder(t *testing.T, s *scratch) {
	to, _ := s.target(t)
	a := s.uploadTo(t, assets.Upload{FolderID: to.FolderID, Filename: "a.txt"}, []byte("x"))
	if err := s.Trash(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteFolder(t.Context(), to.FolderID); err != nil {
		t.Fatal(err)
	}
	got, err := s.ValidateRestore(t.Context(), a.ID)
	if err != nil || got[a.ID].SourceExists {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := s.Restore(t.Context(), assets.Restoration{AssetID: a.ID, Target: assets.Target{CategoryID: s.category}}); err != nil {
		t.Error(err)
	}
}

// used returns the assets of the scratch category among those used last.
func (s *scratch) used(t *testing.T, ids ...string) (found []string) {
	t.Helper()
	for a, err := range s.Recent(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(ids, a.ID) {
			found = append(found, a.ID)
		}
		if len(found) == len(ids) {
			break
		}
	}
	return found
}

func testRecentUpload(t *testing.T, s *scratch) {
	a, b := s.upload(t, "a.txt").ID, s.upload(t, "b.txt").ID
	if got := s.used(t, a, b); !slices.Equal(got, []string{b, a}) {
		t.Errorf("got %v, want %s, %s", got, b, a)
	}
}

func testRecent(t *testing.T, s *scratch) {
	a, b := s.upload(t, "a.txt").ID, s.upload(t, "b.txt").ID
	for _, id := range []string{b, a} {
		if err := s.MarkUsed(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.used(t, a, b); !slices.Equal(got, []string{a, b}) {
		t.Errorf("got %v, want %s, %s", got, a, b)
	}
}

func testOffset(t *testing.T, s *scratch) {
	for _, name := range []string{"c", "a", "b"} {
		s.upload(t, name+".txt")
	}
	for _, order := range []string{assets.Ascending, assets.Descending} {
		o := s.here()
		o.SortBy, o.Order = assets.ByName, order
		for i, id := range idsOf(s.list(t, o)) {
			if got, err := s.Offset(t.Context(), id, assets.ByName, order); err != nil || got != i {
				t.Errorf("%s: got %d, %v, want %d", order, got, err, i)
			}
		}
	}
}
