package engine

import (
	"context"
	"slices"
	"sync"
	"testing"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/apply"
)

// A missing is a service that reports for the first upload that its folder does not exist.
type missing struct {
	migrate.Writer
	once   sync.Once
	upload func(context.Context, assets.Upload) error // the first
}

func (m *missing) Upload(ctx context.Context, u assets.Upload) (a assets.Asset, err error) {
	m.once.Do(func() { err = m.upload(ctx, u) })
	if err != nil {
		return a, err
	}
	return m.Writer.Upload(ctx, u)
}

// TestNotFoundThatLeavesAUnconfirmed verifies that an answer after which the upload is unconfirmed
// does not count as a missing folder, whatever its status: the asset is not uploaded a second time.
func TestNotFoundThatLeavesAUnconfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("dir/a.jpg", "a")
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) {
		client := a.Write
		a.Write = &missing{Writer: client, upload: func(ctx context.Context, u assets.Upload) error {
			_, err := client.Upload(ctx, u)
			must(t, err)
			return &assets.Error{Op: "upload", Unconfirmed: true, Status: 404}
		}}
	})
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 1})
	w.wantAssets([]placed{{"Images", "dir", "a.jpg", checksum("a")}})
}

// TestYoungFolderIsNotMadeTwice verifies that a folder that was just created, and that neither
// uploads nor listings know yet, is not created a second time.
func TestYoungFolderIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("dir/a.jpg", "a")
	listings := &lateListings{Reader: w.client}
	d := w.deps()
	d.Dest = listings
	plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) {
		a.Write = &missing{Writer: a.Write, upload: func(context.Context, assets.Upload) error {
			listings.late = true
			return &assets.Error{Op: "upload", Status: 404}
		}}
	})
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 1})
	if n := w.folders()["Images/dir"]; n != 1 {
		t.Errorf("the folder is there %d times", n)
	}
}

// A lateListings may omit the folder dir from the next listing.
type lateListings struct {
	migrate.Reader
	late bool
}

func (l *lateListings) Folders(ctx context.Context) ([]assets.Folder, error) {
	all, err := l.Reader.Folders(ctx)
	if l.late {
		l.late, all = false, slices.DeleteFunc(all, func(f assets.Folder) bool { return f.Name == "dir" })
	}
	return all, err
}
