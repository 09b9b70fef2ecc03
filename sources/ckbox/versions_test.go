package ckbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/sources"
	"assetferry/sources/ckbox"
)

// TestVersions verifies that the revisions of an asset are its older versions, the newest first.
func TestVersions(t *testing.T) {
	at := time.Now().Truncate(time.Second)
	s := sandboxtest.Run(t, sandbox.Options{Now: func() time.Time { at = at.Add(time.Millisecond); return at }})
	admin := client(t, s, "admin", false)
	category, err := admin.CreateCategory(t.Context(), assets.NewCategory{Name: "Open", Extensions: []string{"txt"}})
	must(t, err)
	a := upload(t, admin, category, "", "a.txt", []byte("1"))
	for _, content := range []string{"22", "333"} {
		_, err := admin.Replace(t.Context(), a.ID, assets.Replacement{Filename: "a.txt", Size: int64(len(content)),
			Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader([]byte(content))), nil
			}})
		must(t, err)
	}
	src := ckbox.New(client(t, s, "user", true), ckbox.Options{Environment: s.Environment.ID, Workspace: s.Environment.ID})
	var found []string
	for o, err := range src.Objects(t.Context(), "") {
		must(t, err)
		if o.Key != "Open/a.txt" {
			continue
		}
		last := o
		for v, err := range src.Versions(t.Context(), o) {
			must(t, err)
			found = append(found, contentOf(t, src, v))
			if !v.Time.Before(last.Time) || v.Key != o.Key {
				t.Errorf("%+v is not before %+v", v, last)
			}
			last = v
		}
	}
	if len(found) != 2 || found[0] != "22" || found[1] != "1" {
		t.Errorf("versions: %q", found)
	}
}

func contentOf(t *testing.T, src *ckbox.Source, o sources.Object) string {
	t.Helper()
	r, err := src.Open(t.Context(), o, 0)
	must(t, err)
	content, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	return string(content)
}

// A revision is an earlier content of an asset in a workspace.
type revision struct {
	assets.Revision
	content []byte
}

// revise keeps the present content of an asset as a revision.
func (w *workspace) revise(id string) {
	a := w.assets[id]
	w.revisions[id] = append(w.revisions[id], revision{assets.Revision{ID: fmt.Sprint("r", w.made), Size: a.Size, CreatedAt: a.LastModifiedAt}, w.contents[id]})
}

func (w *workspace) dropRevision(o sources.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revisions[o.VersionTag] = slices.DeleteFunc(w.revisions[o.VersionTag], func(r revision) bool { return r.ID == o.Version })
	return nil
}

func (w *workspace) Revisions(ctx context.Context, id string) (all []assets.Revision, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.assets[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	all = append(all, assets.Revision{ID: "r" + id, Size: a.Size, CreatedAt: a.LastModifiedAt, Current: true})
	for _, r := range slices.Backward(w.revisions[id]) {
		all = append(all, r.Revision)
	}
	return all, context.Cause(ctx)
}

func (w *workspace) DownloadRevision(ctx context.Context, a assets.Asset, id string, offset int64) (io.ReadCloser, int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.revisions[a.ID] {
		if r.ID == id {
			return io.NopCloser(bytes.NewReader(r.content[offset:])), r.Size, context.Cause(ctx)
		}
	}
	return nil, 0, fs.ErrNotExist
}
