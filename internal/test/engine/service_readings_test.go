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

// reading sets one interpretation of the undocumented behaviour of the service.
func reading(tb testing.TB, text string) func(*sandbox.Options) {
	return func(o *sandbox.Options) { o.Profile = sandboxtest.Read(tb, text) }
}

// underReadings runs a test under each interpretation.
func underReadings(t *testing.T, test func(t *testing.T, w *world)) {
	for _, text := range sandboxtest.Readings() {
		t.Run(text, func(t *testing.T) { test(t, newWorld(t, reading(t, text))) })
	}
}

// TestFolderOfThatNameInAnother verifies that a folder of the same name inside another folder is
// not mistaken for the right one.
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

// TestVerifyNoticesAWrongPlace verifies that an asset in a folder of the same name inside another
// folder is a difference.
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

// A mistaken reader returns a nested folder as one at the top level.
type mistaken struct {
	migrate.Reader
	folder assets.Folder
}

func (m mistaken) Folders(ctx context.Context) ([]assets.Folder, error) {
	top, err := m.Reader.Folders(ctx)
	return append(slices.DeleteFunc(top, func(f assets.Folder) bool { return f.ID == m.folder.ID }), m.folder), err
}

// TestAssetOfAFolderIsNoneOfTheCategory verifies that an asset in a folder does not count as one of
// the category itself, however it is listed: it is not adopted, blocks no name, and does not
// confirm an upload without an answer.
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

// TestUnconfirmedIsNotMatchedToAnAssetOfAFolder verifies that an upload whose answer was lost is
// not matched to a similar asset in a folder.
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

// TestUnconfirmedWithoutOrder verifies that an upload without an answer is found, and not sent
// again, even if the service ignores the requested order and lists the newest assets last.
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

// TestUnconfirmedUntilListed verifies that an upload that the service lists late is not sent again
// if the confirmation timeout is long enough.
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
