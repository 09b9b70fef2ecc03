package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
	"assetferry/migrate"
	"assetferry/state"
)

// An instead is a world after a run that created a new asset instead of the former one, which is in
// the trash.
type instead struct {
	*world
	rules         migrate.Rules
	day           migrate.Plan
	former, later string // IDs
}

func newInstead(t *testing.T) *instead {
	t.Helper()
	w := &instead{
		world: newWorld(t, func(o *sandbox.Options) { o.Profile = profile.Profile{Version: 1, Lacks: []string{"replace"}} }),
		rules: syncRules("keep"),
	}
	w.rules.Sync.Delete, w.rules.Sync.OnReplaceRefused = "trash", "new-asset"
	w.put("stays.jpg", "stays", "a.jpg", "a")
	w.sync(says(), w.rules)
	w.former = w.receipt("a.jpg").Asset
	w.put("a.jpg", "other")
	w.day = w.sync(says(), w.rules)
	w.later = w.receipt("a.jpg").Asset
	if w.former == w.later {
		t.Fatal("no new asset was sent")
	}
	return w
}

// refuses makes the service refuse to restore some assets from the trash: each by itself, or the
// whole request.
func (w *instead) refuses(status int, ids ...string) {
	w.answers("/assets/restore", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		for _, id := range ids {
			switch {
			case !strings.Contains(body, id):
			case status == http.StatusMultiStatus:
				return reply(r, status, fmt.Sprintf(`{"%s":403}`, id)), nil
			default:
				return reply(r, status, fmt.Sprintf(`{"statusCode":%d,"message":"no","data":null,"traceId":"t"}`, status)), nil
			}
		}
		return next.RoundTrip(withBody(r, body))
	})
}

// wantLater verifies that the object has the asset of the run, and that the next run does not
// change it.
func (w *instead) wantLater() {
	w.Helper()
	if r := w.receipt("a.jpg"); r.Asset != w.later {
		w.Errorf("its asset is %s, want %s", r.Asset, w.later)
	}
	if a, err := w.other.Asset(w.Context(), w.later); err != nil || a.Filename() != "a.jpg" {
		w.Errorf("the asset of the night: %s, %v", a.Filename(), err)
	}
	if got, _ := w.states(w.sync(says(), w.rules)); !gocmp.Equal(got, map[string]int64{"unchanged skipped": 2}) {
		w.Errorf("the next run came to %v", got)
	}
}

func (w *instead) wantFailure(undo migrate.Plan, says ...string) {
	w.Helper()
	i := w.item(undo, "a.jpg")
	if i.State != state.ItemFailed {
		w.Errorf("it is %s", i.State)
	}
	for _, text := range says {
		if !strings.Contains(i.Error, text) {
			w.Errorf("its error is %q, want %q in it", i.Error, text)
		}
	}
}

// TestUndoOfNewAssetWhoseFormerCannotBeRestored verifies that nothing is trashed unless the former
// asset can be restored.
func TestUndoOfNewAssetWhoseFormerCannotBeRestored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(*instead)
		says    string
	}{
		"emptied trash": {func(w *instead) { must(w, w.other.Delete(w.Context(), w.former)) }, "not in the trash of the service any more"},
		"place that is gone": {func(w *instead) {
			w.validates(`{"assets":{"` + w.former + `":{"sourceExists":false,"hasNameConflict":false,"isExtensionAllowed":true}}}`)
		}, "previous folder does not exist any more"},
		"extension that is not allowed": {func(w *instead) {
			w.validates(`{"assets":{"` + w.former + `":{"sourceExists":true,"hasNameConflict":true,"isExtensionAllowed":false}}}`)
		}, "does not allow its extension any more"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newInstead(t)
			tc.prepare(w)
			var undo migrate.Plan
			asked := w.during(func() { undo = w.undo(w.day) })
			if n := asked["POST /assets/trash"]; n > 0 {
				t.Errorf("%d requests to trash something", n)
			}
			w.wantFailure(undo, tc.says, "the object keeps asset "+w.later)
			w.wantLater()
		})
	}
}

// validates sets the service's answer to the validation of a restore request.
func (w *instead) validates(answer string) {
	w.answers("/assets/restore/validate", func(_ http.RoundTripper, r *http.Request, _ string) (*http.Response, error) {
		return reply(r, http.StatusOK, answer), nil
	})
}

// TestUndoOfNewAssetWhoseFormerIsRefused verifies that the trashed new asset is restored if the
// service refuses to restore the former one after all.
func TestUndoOfNewAssetWhoseFormerIsRefused(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*instead){
		"by itself":        func(w *instead) { w.refuses(http.StatusMultiStatus, w.former) },
		"with its request": func(w *instead) { w.refuses(http.StatusBadRequest, w.former) },
		"for its name":     func(w *instead) { w.upload(w.images, "", "a.jpg", "of somebody else") },
		"as not there": func(w *instead) {
			w.validates(fmt.Sprintf(validNow, w.former))
			must(w, w.other.Delete(w.Context(), w.former))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newInstead(t)
			prepare(w)
			w.wantFailure(w.undo(w.day), "the object keeps asset "+w.later)
			w.wantLater()
		})
	}
}

const validNow = `{"assets":{"%s":{"sourceExists":true,"hasNameConflict":true,"isExtensionAllowed":true}}}`

// TestUndoOfNewAssetWhenNeitherIsRestored verifies that the item reports where both assets are if
// neither can be restored.
func TestUndoOfNewAssetWhenNeitherIsRestored(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMultiStatus, http.StatusBadRequest, http.StatusForbidden} {
		w := newInstead(t)
		w.refuses(status, w.former, w.later)
		w.wantFailure(w.undo(w.day), "asset "+w.later+", its replacement, is in the trash, too", "restore it by hand")
	}
}

// TestUndoOfNewAssetGoesOnWithAnEmptiedTrash verifies that an undo that ended between the two
// requests checks again whether the former asset can be restored.
func TestUndoOfNewAssetGoesOnWithAnEmptiedTrash(t *testing.T) {
	w := newInstead(t)
	restore := w.answers("/assets/restore", func(_ http.RoundTripper, r *http.Request, _ string) (*http.Response, error) {
		return reply(r, http.StatusServiceUnavailable, `{}`), nil
	})
	if _, err := w.undoRun(t.Context(), w.deps(), w.day.Run.ID, false); err == nil {
		t.Fatal("the undo did not end early")
	}
	restore()
	if _, err := w.other.Asset(t.Context(), w.later); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the asset of the night is not in the trash: %v", err)
	}
	must(t, w.other.Delete(t.Context(), w.former))
	w.wantFailure(w.undo(w.day), "not in the trash of the service any more", "the object keeps asset "+w.later)
	w.wantLater()
}

// TestUndoOfNewAssetIsCutOff verifies that, wherever an undo is interrupted, resuming it restores
// the former asset.
func TestUndoOfNewAssetIsCutOff(t *testing.T) {
	t.Parallel()
	for n, cut := 1, true; cut; n++ {
		w := newInstead(t)
		ctx, cancel := context.WithCancel(t.Context())
		cut = false
		w.gate.on(func(at int, _ *http.Request) error {
			if at == n {
				cut = true
				cancel()
			}
			return ctx.Err()
		})
		_, err := w.undoRun(ctx, w.deps(), w.day.Run.ID, false)
		cancel()
		w.gate.on(nil)
		if cut != (err != nil) {
			t.Errorf("cut off at request %d: %v", n, err)
		}
		if cut {
			w.undo(w.day)
		}
		if r := w.receipt("a.jpg"); r.Asset != w.former || w.content(w.assetOf("a.jpg")) != "a" {
			t.Errorf("cut off at request %d: its asset is %s, want %s", n, r.Asset, w.former)
		}
		if _, err := w.other.Asset(t.Context(), w.later); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("cut off at request %d: the asset of the night is there: %v", n, err)
		}
		w.close()
	}
}

// TestUndoOfNewAssetWithoutTheRightToRestore verifies that the undo ends for lack of permissions
// only after it has restored the new asset.
func TestUndoOfNewAssetWithoutTheRightToRestore(t *testing.T) {
	w := newInstead(t)
	w.refuses(http.StatusForbidden, w.former)
	_, err := w.undoRun(t.Context(), w.deps(), w.day.Run.ID, false)
	if err == nil || !strings.Contains(err.Error(), "the object keeps asset "+w.later) {
		t.Errorf("the undo ended with %v", err)
	}
	if _, err := w.other.Asset(t.Context(), w.later); err != nil {
		t.Errorf("the asset of the night: %v", err)
	}
}

// TestUndoOfNewAssetThatLosesItsRights verifies that an undo that loses its permissions between the
// two requests ends, does not count the object as lost, and resumes once it has them again.
func TestUndoOfNewAssetThatLosesItsRights(t *testing.T) {
	w := newInstead(t)
	next := w.gate.next
	w.gate.next = forbiddingAfter{next, "/assets/trash", new(atomic.Bool)}
	_, err := w.undoRun(t.Context(), w.deps(), w.day.Run.ID, false)
	if err == nil || !strings.Contains(err.Error(), "asset "+w.later+", its replacement, may be in the trash") {
		t.Errorf("the undo ended with %v", err)
	}
	w.gate.next = next
	w.undo(w.day)
	if r := w.receipt("a.jpg"); r.Asset != w.former || w.content(w.assetOf("a.jpg")) != "a" {
		t.Errorf("its asset is %s, want %s", r.Asset, w.former)
	}
}

// TestUndoOfNewAssetsThatLosesItsRightsToOne verifies that the permission for one of several assets
// does not affect the others: the next undo restores what this one left in the trash.
func TestUndoOfNewAssetsThatLosesItsRightsToOne(t *testing.T) {
	w := newInstead(t)
	w.put("b.jpg", "b")
	w.sync(says(), w.rules)
	former := map[string]string{"a.jpg": w.later, "b.jpg": w.receipt("b.jpg").Asset}
	w.put("a.jpg", "third", "b.jpg", "other")
	day := w.sync(says(), w.rules)
	next := w.gate.next
	w.gate.next = forbidding{next, "/assets/" + former["b.jpg"]}
	w.answers("/assets/restore", func(_ http.RoundTripper, r *http.Request, _ string) (*http.Response, error) {
		return reply(r, http.StatusServiceUnavailable, `{}`), nil
	})
	undo, err := w.undoRun(t.Context(), w.deps(), day.Run.ID, false)
	if !assets.IsAuth(err) {
		t.Errorf("the undo ended with %v", err)
	}
	if i := w.item(undo, "a.jpg"); i.State != state.ItemUnconfirmed {
		t.Errorf("it is %s, want unconfirmed", i.State)
	}
	w.gate.next = next
	w.undo(day)
	for key, content := range map[string]string{"a.jpg": "other", "b.jpg": "b"} {
		if r := w.receipt(key); r.Asset != former[key] || w.content(w.assetOf(key)) != content {
			t.Errorf("the asset of %s is %s, want %s", key, r.Asset, former[key])
		}
	}
}

// A forbiddingAfter service refuses all requests after one to a path.
type forbiddingAfter struct {
	http.RoundTripper
	path  string
	asked *atomic.Bool
}

func (f forbiddingAfter) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.asked.Load() {
		return forbidding{f.RoundTripper, r.URL.Path}.RoundTrip(r)
	}
	f.asked.Store(r.URL.Path == f.path)
	return f.RoundTripper.RoundTrip(r)
}

// TestUndoOfNewAssetAsksBeforeItTrashes verifies that the undo ends before it trashes anything if
// it cannot request the former asset.
func TestUndoOfNewAssetAsksBeforeItTrashes(t *testing.T) {
	w := newInstead(t)
	next := w.gate.next
	w.gate.next = forbidding{next, "/assets/" + w.former}
	asked := w.during(func() {
		if _, err := w.undoRun(t.Context(), w.deps(), w.day.Run.ID, false); err == nil {
			t.Error("the undo did not end early")
		}
	})
	w.gate.next = next
	if n := asked["POST /assets/trash"]; n > 0 {
		t.Errorf("%d requests to trash something", n)
	}
}

// A forbidding service refuses all requests to a path.
type forbidding struct {
	http.RoundTripper
	path string
}

func (f forbidding) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != f.path {
		return f.RoundTripper.RoundTrip(r)
	}
	return reply(r, http.StatusForbidden, `{"statusCode":403,"message":"no","data":null,"traceId":"t"}`), nil
}
