package assettest

import (
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"testing"

	"assetferry/internal/assets"
)

func transferLaws() []law {
	return []law{
		{"name conflicts", testNamesTaken},
		{guess("name conflicts between Unicode forms"), testNamesTakenNormal},
		{"copy", testCopy},
		{"move", testMove},
		{"rename during a transfer", testTransferRename},
		{guess("replace during a transfer"), testTransferReplace},
		{guess("name conflicts stop a transfer"), testTransferTaken},
		{"failed transfers", testTransferFailures},
		{guess("move to the same place"), testMoveToSamePlace},
	}
}

// failures returns the failures of a bulk operation, which must be complete.
func failures(t *testing.T, err error) map[string]int {
	t.Helper()
	if err == nil {
		return nil
	}
	bulk, ok := errors.AsType[*assets.BulkError](err)
	if !ok || bulk.Err != nil || len(bulk.Open) > 0 {
		t.Fatal(err)
	}
	return bulk.Failed
}

func wantFailures(t *testing.T, err error, want map[string]int) {
	t.Helper()
	if got := failures(t, err); !maps.Equal(got, want) {
		t.Errorf("failed: got %v, want %v", got, want)
	}
}

// target creates a folder to copy or move to.
func (s *scratch) target(t *testing.T) (assets.Target, assets.ListOptions) {
	t.Helper()
	folder := s.newFolder(t, assets.NewFolder{Name: "target", CategoryID: s.category})
	return assets.Target{FolderID: folder}, assets.ListOptions{FolderID: folder}
}

func (s *scratch) here() assets.ListOptions { return assets.ListOptions{CategoryID: s.category} }

func namesOf(all []assets.Asset) []string {
	var names []string
	for _, a := range all {
		names = append(names, a.Filename())
	}
	slices.Sort(names)
	return names
}

func testNamesTaken(t *testing.T, s *scratch) {
	s.upload(t, "taken ü.txt")
	to, _ := s.target(t)
	s.uploadTo(t, assets.Upload{FolderID: to.FolderID, Filename: "inside.txt"}, []byte("x"))
	names := []string{"free.txt", "taken ü.txt", "taken ü.png", "inside.txt"}
	for target, want := range map[assets.Target][]string{
		{CategoryID: s.category}: {"taken ü.txt"}, to: {"inside.txt"},
	} {
		if got, err := s.NamesTaken(t.Context(), target, names...); err != nil || !slices.Equal(got, want) {
			t.Errorf("in %+v: got %q, %v, want %q", target, got, err, want)
		}
	}
}

func testNamesTakenNormal(t *testing.T, s *scratch) {
	s.upload(t, "gr\u00fcn.txt")
	for name, want := range map[string]int{"gru\u0308n.txt": 1, "gr\u00fcn.TXT": 1, "GR\u00dcN.txt": 0} {
		if got, err := s.NamesTaken(t.Context(), assets.Target{CategoryID: s.category}, name); err != nil || len(got) != want {
			t.Errorf("%q: got %q, %v", name, got, err)
		}
	}
}

func testCopy(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	changes := assets.Changes{Description: new("d"), Tags: &[]string{"x"}, CustomAttributes: map[string]any{"k": "v"}}
	if _, err := s.Update(t.Context(), a.ID, changes); err != nil {
		t.Fatal(err)
	}
	to, there := s.target(t)
	if err := s.Copy(t.Context(), to, assets.Transfer{AssetID: a.ID}); err != nil {
		t.Fatal(err)
	}
	made := s.list(t, there)
	if len(made) != 1 || made[0].ID == a.ID || made[0].URL == a.URL {
		t.Fatalf("got %+v", made)
	}
	c := made[0]
	if c.Filename() != "a.txt" || c.Size != a.Size || c.Metadata.Description != "d" || !slices.Equal(c.Tags, []string{"x"}) ||
		c.Metadata.CustomAttributes["k"] != "v" {
		t.Errorf("got %+v", c)
	}
	if got := idsOf(s.list(t, s.here())); !slices.Equal(got, []string{a.ID}) {
		t.Errorf("original: got %v", got)
	}
	// The copies are independent.
	if err := s.Trash(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.content(t, c.URL); got != "content of a.txt" {
		t.Errorf("content of the copy: got %q", got)
	}
}

func testMove(t *testing.T, s *scratch) {
	a, b := s.upload(t, "a.txt"), s.upload(t, "b.txt")
	to, there := s.target(t)
	if err := s.Move(t.Context(), to, assets.Transfer{AssetID: a.ID}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Asset(t.Context(), a.ID)
	if err != nil || got.FolderID != to.FolderID || got.URL != a.URL {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := idsOf(s.list(t, there)); !slices.Equal(got, []string{a.ID}) {
		t.Errorf("in the target: got %v", got)
	}
	if got := idsOf(s.list(t, s.here())); !slices.Equal(got, []string{b.ID}) {
		t.Errorf("not moved: got %v", got)
	}
	back := assets.Target{CategoryID: s.category}
	if err := s.Move(t.Context(), back, assets.Transfer{AssetID: a.ID}); err != nil {
		t.Error(err)
	}
}

func testTransferRename(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	to, there := s.target(t)
	s.uploadTo(t, assets.Upload{FolderID: to.FolderID, Filename: "a.txt"}, []byte("x"))
	transfer := assets.Transfer{AssetID: a.ID, IfTaken: assets.RenameIt}
	if err := s.Copy(t.Context(), to, transfer); err != nil {
		t.Fatal(err)
	}
	if err := s.Move(t.Context(), to, transfer); err != nil {
		t.Fatal(err)
	}
	if got := namesOf(s.list(t, there)); len(slices.Compact(got)) != 3 {
		t.Errorf("got %q, want three names", got)
	}
}

func testTransferReplace(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	to, there := s.target(t)
	old := s.uploadTo(t, assets.Upload{FolderID: to.FolderID, Filename: "a.txt"}, []byte("x"))
	if err := s.Move(t.Context(), to, assets.Transfer{AssetID: a.ID, IfTaken: assets.ReplaceThere}); err != nil {
		t.Fatal(err)
	}
	if got := idsOf(s.list(t, there)); !slices.Equal(got, []string{a.ID}) {
		t.Errorf("got %v, want %s", got, a.ID)
	}
	if !s.inTrash(t, old.ID) {
		t.Error("the replaced asset is not in the trash")
	}
}

func testTransferTaken(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	to, there := s.target(t)
	s.uploadTo(t, assets.Upload{FolderID: to.FolderID, Filename: "a.txt"}, []byte("x"))
	want := map[string]int{a.ID: http.StatusConflict}
	wantFailures(t, s.Copy(t.Context(), to, assets.Transfer{AssetID: a.ID}), want)
	wantFailures(t, s.Move(t.Context(), to, assets.Transfer{AssetID: a.ID}), want)
	if got := s.list(t, there); len(got) != 1 {
		t.Errorf("in the target: got %v", got)
	}
}

// A failed transfer does not stop the others.
func testTransferFailures(t *testing.T, s *scratch) {
	texts, err := s.CreateCategory(t.Context(), assets.NewCategory{Name: unique("texts"), Extensions: []string{"txt"}})
	if err != nil {
		t.Fatal(err)
	}
	s.keep(texts)
	text := s.upload(t, "a.txt")
	picture := s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "p.png"}, picture(t, 2, 2))
	trashed := s.upload(t, "trashed.txt")
	if err := s.Trash(t.Context(), trashed.ID); err != nil {
		t.Fatal(err)
	}
	to := assets.Target{CategoryID: texts}
	all := []assets.Transfer{{AssetID: picture.ID}, {AssetID: trashed.ID}, {AssetID: text.ID}}
	want := map[string]int{picture.ID: http.StatusBadRequest, trashed.ID: http.StatusNotFound}
	wantFailures(t, s.Copy(t.Context(), to, all...), want)
	all[2].IfTaken = assets.RenameIt
	wantFailures(t, s.Move(t.Context(), to, all...), want)
	if got := s.list(t, assets.ListOptions{CategoryID: texts}); len(got) != 2 {
		t.Errorf("in the target: got %v", got)
	}
	err = s.Move(t.Context(), assets.Target{FolderID: "00000000-0000-4000-8000-000000000000"}, all[2])
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("move to a missing folder: got %v", err)
	}
}

func testMoveToSamePlace(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	for _, action := range []assets.Action{"", assets.RenameIt, assets.ReplaceThere} {
		if err := s.Move(t.Context(), assets.Target{CategoryID: s.category}, assets.Transfer{AssetID: a.ID, IfTaken: action}); err != nil {
			t.Errorf("%q: got %v", action, err)
		}
	}
	if got := s.list(t, s.here()); len(got) != 1 || got[0].Filename() != "a.txt" {
		t.Errorf("got %+v", got)
	}
}
