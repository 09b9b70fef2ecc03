package engine

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/verify"
)

// reading has a world's sandbox read what is not documented in one way.
func reading(tb testing.TB, text string) func(*sandbox.Options) {
	return func(o *sandbox.Options) { o.Profile = sandboxtest.Read(tb, text) }
}

// underReadings runs a test under each reading.
func underReadings(t *testing.T, test func(t *testing.T, w *world)) {
	for _, text := range sandboxtest.Readings() {
		t.Run(text, func(t *testing.T) { test(t, newWorld(t, reading(t, text))) })
	}
}

// A folder of the same name that lies in another one is not the one that is meant.
func TestFolderOfThatNameInAnother(t *testing.T) {
	underReadings(t, func(t *testing.T, w *world) {
		outer := w.folder(w.images, "", "x")
		inner := w.folder(w.images, outer, "y")
		w.put("y/b.png", "b")
		w.migrate(migrate.DefaultRules())
		r, err := w.store.Receipt(t.Context(), w.pair.ID, "y/b.png")
		must(t, err)
		a, err := w.other.Asset(t.Context(), r.Asset)
		must(t, err)
		f, err := w.other.Folder(t.Context(), a.FolderID, 1)
		must(t, err)
		if a.FolderID == inner || f.Name != "y" || f.ParentID != "" {
			t.Errorf("y/b.png lies in the folder %q (%s) of %q, want one at the top", f.Name, f.ID, f.ParentID)
		}
		if _, found := w.verify(w.deps(), verify.LevelListing, 0); len(found) > 0 {
			t.Errorf("verify found %q", found)
		}
	})
}

// What was put into the folder of that name in another one is a difference.
func TestVerifyNoticesAWrongPlace(t *testing.T) {
	underReadings(t, func(t *testing.T, w *world) {
		inner := w.folder(w.images, w.folder(w.images, "", "x"), "y")
		w.put("y/b.png", "b", "y/deeper/c.png", "c", "z/d.png", "d", "a.png", "a")
		d := w.deps()
		d.Dest = mistaken{w.client, assets.Folder{ID: inner, CategoryID: w.images, Name: "y"}}
		_, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
		must(t, err)
		v, found := w.verify(w.deps(), verify.LevelListing, 0)
		want := []string{`y/b.png is in the folder "x/y" instead of "y"`, `y/deeper/c.png is in the folder "x/y/deeper" instead of "y/deeper"`}
		if diff := gocmp.Diff(want, found); diff != "" || v.Differences != 2 {
			t.Errorf("%d differences, -want +got:\n%s", v.Differences, diff)
		}
	})
}

// A mistaken reader takes a folder for one at the top.
type mistaken struct {
	migrate.Reader
	folder assets.Folder
}

func (m mistaken) Folders(ctx context.Context) ([]assets.Folder, error) {
	top, err := m.Reader.Folders(ctx)
	return append(slices.DeleteFunc(top, func(f assets.Folder) bool { return f.ID == m.folder.ID }), m.folder), err
}

// An asset that lies in a folder is not taken for one of the category itself, however it is
// listed: neither adopted, nor in the way, nor what an upload without an answer became.
func TestAssetOfAFolderIsNoneOfTheCategory(t *testing.T) {
	underReadings(t, func(t *testing.T, w *world) {
		theirs := w.upload(w.images, w.folder(w.images, "", "x"), "a.png", "a")
		w.put("a.png", "a")
		w.migrate(migrate.DefaultRules())
		r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.png")
		must(t, err)
		if r.Asset == theirs.ID || r.Adopted || r.Folder != "" {
			t.Errorf("a.png is %+v, want an asset of its own", r)
		}
		want := []placed{{"Images", "", "a.png", checksum("a")}, {"Images", "x", "a.png", checksum("a")}}
		if diff := gocmp.Diff(want, w.assetsAt()); diff != "" {
			t.Errorf("at the destination (-want +got):\n%s", diff)
		}
	})
}

// An upload whose answer was lost is not taken for the asset in a folder that looks like it.
func TestUnconfirmedIsNotMatchedToAnAssetOfAFolder(t *testing.T) {
	t.Parallel()
	underReadings(t, func(t *testing.T, w *world) {
		folder := w.folder(w.images, "", "x")
		w.put("a.png", "a")
		w.die(migrate.DefaultRules())
		theirs := w.upload(w.images, folder, "a.png", "a")
		w.migrate(migrate.DefaultRules())
		r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.png")
		must(t, err)
		if r.Asset == theirs.ID || r.Folder != "" {
			t.Errorf("a.png is %+v, want an asset of its own", r)
		}
	})
}

// A service that minds no order lists the newest last: what arrived without an answer is found
// nevertheless, and not sent again.
func TestUnconfirmedWithoutOrder(t *testing.T) {
	var ago atomic.Int64 // how far the clock of the service is behind
	w := newWorld(t, reading(t, "list_order: ignored"), func(o *sandbox.Options) {
		o.Now = func() time.Time { return time.Now().Add(-time.Duration(ago.Load())) }
	})
	ago.Store(int64(time.Hour))
	w.tokens.SetSkew(-time.Hour)
	w.tokens.Invalidate()
	for n := range 60 {
		ago.Add(-int64(time.Second))
		w.upload(w.images, "", fmt.Sprintf("theirs %d.png", n), "theirs")
	}
	ago.Store(0)
	w.tokens.SetSkew(0)
	w.tokens.Invalidate()
	w.put("a.png", "a")
	w.die(migrate.DefaultRules(), "a.png")
	w.migrate(migrate.DefaultRules())
	n := 0
	for _, a := range w.assetsAt() {
		if a.Name == "a.png" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("a.png is there %d times", n)
	}
}

// What is listed late is waited for, and not sent again, where the time to wait is long enough.
func TestUnconfirmedUntilListed(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	w := newWorld(t, reading(t, "listing_delay: 300ms"), faults(t, "POST /assets drop=after once=1"))
	w.put("a.png", "a", "b.png", "b")
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.ConfirmTimeout, a.ResponseTimeout = 2*late, 2*late })
	must(t, err)
	if n := w.requests()["POST /assets"]; n != 2 {
		t.Errorf("sent %d times, want each of 2 once", n)
	}
}
