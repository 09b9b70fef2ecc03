package assettest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"testing"
	"time"

	"assetferry/internal/assets"
)

func revisionLaws() []law {
	return []law{
		{"replace in place", testReplace},
		{"replaced images are processed again", testReplaceImage},
		{guess("replace with another extension"), testReplaceExtension},
		{"replace a missing asset", testReplaceNothing},
		{"revisions", testRevisions},
		{guess("revisions are listed newest first"), testRevisionOrder},
		{"use a revision", testUseRevision},
		{"delete a revision", testDeleteRevision},
		{guess("the current revision cannot be deleted"), testDeleteCurrent},
		{guess("download a revision"), testRevisionFile},
	}
}

func (s *scratch) replace(t *testing.T, id, name string, content []byte) (assets.Asset, error) {
	t.Helper()
	return s.Replace(t.Context(), id, assets.Replacement{
		Filename: name, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	})
}

// revised returns an asset with two revisions, "old" and "newer".
func (s *scratch) revised(t *testing.T) (a assets.Asset, current, old assets.Revision) {
	t.Helper()
	a = s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "a.txt"}, []byte("old"))
	a, err := s.replace(t, a.ID, "a.txt", []byte("newer"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Revisions(t.Context(), a.ID)
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v", all, err)
	}
	i := slices.IndexFunc(all, func(r assets.Revision) bool { return r.Current })
	if i < 0 {
		t.Fatalf("no revision is current: %+v", all)
	}
	return a, all[i], all[1-i]
}

func (s *scratch) content(t *testing.T, url string) string {
	t.Helper()
	body, _, err := s.Download(t.Context(), url, 0)
	return text(t, body, err)
}

func text(t *testing.T, body io.ReadCloser, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	got, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func testReplace(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	if _, err := s.Update(t.Context(), a.ID, assets.Changes{Name: new("renamed"), Tags: &[]string{"x"}, Description: new("d")}); err != nil {
		t.Fatal(err)
	}
	got, err := s.replace(t, a.ID, "whatever.txt", []byte("replaced"))
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != a.ID || got.URL != a.URL || got.Name != "renamed" || got.CategoryID != a.CategoryID || got.Size != 8 {
		t.Errorf("got %+v, before %+v", got, a)
	}
	got, err = s.Asset(t.Context(), a.ID)
	if err != nil || !slices.Equal(got.Tags, []string{"x"}) || got.Metadata.Description != "d" || got.Size != 8 {
		t.Errorf("read again: got %+v, %v", got, err)
	}
	if content := s.content(t, got.URL); content != "replaced" {
		t.Errorf("content: got %q", content)
	}
}

func testReplaceImage(t *testing.T, s *scratch) {
	a := s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "p.png"}, picture(t, 200, 100))
	got, err := s.replace(t, a.ID, "p.png", picture(t, 400, 100))
	if err != nil {
		t.Fatal(err)
	}
	if got.ImageURLs["400"] == "" || got.ImageURLs["200"] != "" && a.ImageURLs["400"] != "" {
		t.Errorf("URLs: got %v, were %v", got.ImageURLs, a.ImageURLs)
	}
	got = s.processed(t, a.ID)
	if got.Metadata.Status != assets.Success || got.Metadata.Width != 400 {
		t.Errorf("got %+v", got.Metadata)
	}
}

func (s *scratch) processed(t *testing.T, id string) assets.Asset {
	t.Helper()
	a, err := s.Processed(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func testReplaceExtension(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	_, err := s.replace(t, a.ID, "a.png", picture(t, 2, 2))
	if e, ok := errors.AsType[*assets.Error](err); !ok || e.Status != http.StatusBadRequest || e.Unconfirmed {
		t.Errorf("got %v", err)
	}
	if content := s.content(t, a.URL); content != "content of a.txt" {
		t.Errorf("content: got %q", content)
	}
}

func testReplaceNothing(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	if err := s.Trash(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.replace(t, a.ID, "a.txt", []byte("x")); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, assets.ErrUnconfirmed) {
		t.Errorf("got %v", err)
	}
}

func testRevisions(t *testing.T, s *scratch) {
	_, current, old := s.revised(t)
	if current.Size != 5 || old.Size != 3 || current.ID == "" || current.ID == old.ID || old.Current {
		t.Errorf("got %+v and %+v", current, old)
	}
	for _, r := range []assets.Revision{current, old} {
		if age := time.Since(r.CreatedAt); age.Abs() > 10*time.Minute {
			t.Errorf("created at %v", r.CreatedAt)
		}
	}
	single := s.upload(t, "b.txt")
	if all, err := s.Revisions(t.Context(), single.ID); err != nil || len(all) > 1 || len(all) == 1 && !all[0].Current {
		t.Errorf("revisions of a new asset: got %+v, %v", all, err)
	}
}

func testRevisionOrder(t *testing.T, s *scratch) {
	a, _, _ := s.revised(t)
	if _, err := s.replace(t, a.ID, "a.txt", []byte("newest!")); err != nil {
		t.Fatal(err)
	}
	all, err := s.Revisions(t.Context(), a.ID)
	if err != nil || len(all) != 3 || all[0].Size != 7 || all[1].Size != 5 || all[2].Size != 3 || !all[0].Current {
		t.Errorf("got %+v, %v", all, err)
	}
}

func testUseRevision(t *testing.T, s *scratch) {
	a, current, old := s.revised(t)
	for range 2 {
		if err := s.UseRevision(t.Context(), a.ID, old.ID); err != nil {
			t.Fatal(err)
		}
	}
	if content := s.content(t, a.URL); content != "old" {
		t.Errorf("content: got %q", content)
	}
	if got, err := s.Asset(t.Context(), a.ID); err != nil || got.Size != 3 || got.URL != a.URL {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := s.UseRevision(t.Context(), a.ID, current.ID); err != nil {
		t.Error(err)
	}
	if content := s.content(t, a.URL); content != "newer" {
		t.Errorf("current revision again: got %q", content)
	}
	if err := s.UseRevision(t.Context(), a.ID, "none"); err == nil {
		t.Error("using a missing revision returned no error")
	}
}

func testDeleteRevision(t *testing.T, s *scratch) {
	a, current, old := s.revised(t)
	if err := s.DeleteRevision(t.Context(), a.ID, old.ID); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Revisions(t.Context(), a.ID); err != nil || len(all) != 1 || all[0].ID != current.ID {
		t.Errorf("got %+v, %v", all, err)
	}
	if err := s.UseRevision(t.Context(), a.ID, old.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("use: got %v", err)
	}
	if content := s.content(t, a.URL); content != "newer" {
		t.Errorf("content: got %q", content)
	}
}

func testDeleteCurrent(t *testing.T, s *scratch) {
	a, current, _ := s.revised(t)
	err := s.DeleteRevision(t.Context(), a.ID, current.ID)
	if e, ok := errors.AsType[*assets.Error](err); !ok || e.Status != http.StatusBadRequest {
		t.Errorf("got %v", err)
	}
}

func testRevisionFile(t *testing.T, s *scratch) {
	a, current, old := s.revised(t)
	for id, want := range map[string]string{current.ID: "newer", old.ID: "old"} {
		body, _, err := s.DownloadRevision(t.Context(), a, id, 0)
		if got := text(t, body, err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
