package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/collect"
	"assetferry/sources"
	"assetferry/state"
)

// TestMoves verifies that the asset of an object with a new key is moved and renamed at the
// destination, with one request for each place and one for each new name, and is recorded under its
// new key.
func TestMoves(t *testing.T) {
	for _, provenance := range []string{"never", "always"} {
		t.Run("provenance "+provenance, func(t *testing.T) {
			now := &clock{}
			w := newWorld(t, now.of)
			r := syncRules("keep")
			w.put("a.jpg", "a", "old/b.jpg", "b", "old/c.jpg", "c", "old/d.jpg", "d", "e.txt", "e", "stays.jpg", "stays")
			always := func(a *apply.Applier) { a.Provenance, a.Now = provenance, now.now }
			_, err := w.try(t.Context(), migrate.DefaultRules(), always)
			must(t, err)
			was := map[string]string{}
			for _, key := range []string{"a.jpg", "old/b.jpg", "old/c.jpg", "old/d.jpg", "e.txt"} {
				was[key] = w.receipt(key).Asset
			}
			now.passes(20 * time.Minute)
			plan := w.planSync(r,
				w.renames("a.jpg", "A.jpg", w.images, "", "A.jpg"),
				w.renames("old/b.jpg", "new/deep/b.jpg", w.images, "new/deep", "b.jpg"),
				w.renames("old/c.jpg", "new/deep/see.png", w.images, "new/deep", "see.png"),
				w.renames("old/d.jpg", "d.jpg", w.images, "", "d.jpg"),
				w.renames("e.txt", "e.bin", w.texts, "", "e.bin"),
			)
			asked := w.during(func() { w.completes(plan, always) })
			if provenance == "never" {
				want := map[string]int{"POST /folders": 2, "POST /assets/move": 2, "PATCH /assets/{id}": 3}
				if diff := gocmp.Diff(want, writes(asked)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			}
			if asked["POST /assets"] > 0 {
				t.Errorf("sent %d", asked["POST /assets"])
			}
			w.wantStates(plan, map[string]int64{"move done": 5})
			w.wantAssets([]placed{
				{"Images", "", "A.jpg", checksum("a")}, {"Images", "", "d.jpg", checksum("d")}, {"Images", "", "stays.jpg", checksum("stays")},
				{"Images", "new/deep", "b.jpg", checksum("b")}, {"Images", "new/deep", "see.png", checksum("c")}, {"Texts", "", "e.bin", checksum("e")},
			})
			for from, to := range map[string]string{"a.jpg": "A.jpg", "old/b.jpg": "new/deep/b.jpg", "old/c.jpg": "new/deep/see.png", "old/d.jpg": "d.jpg", "e.txt": "e.bin"} {
				if _, err := w.store.Receipt(t.Context(), w.pair.ID, sources.Key(from)); err == nil {
					t.Errorf("%s still has a receipt", from)
				}
				if got := w.receipt(to); got.Asset != was[from] || got.Run != plan.Run.Num {
					t.Errorf("%s has %+v, want asset %s of run %d", to, got, was[from], plan.Run.Num)
				}
			}
			w.verifies()
			again, err := w.try(t.Context(), migrate.DefaultRules(), always)
			must(t, err)
			w.wantStates(again, map[string]int64{"unchanged skipped": 6})
			w.wantAsLeft()
		})
	}
}

// wantAsLeft verifies that each asset equals its receipt, except those of some keys. An undo would
// skip an asset that differs.
func (w *world) wantAsLeft(but ...string) {
	w.Helper()
	for r, err := range w.store.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		if slices.Contains(but, string(r.Key)) {
			continue
		}
		a, err := w.other.Asset(w.Context(), r.Asset)
		must(w, err)
		left := assets.Asset{Name: norm.NFC.String(r.Name), Extension: r.Extension, CategoryID: r.Category, FolderID: r.Folder, Size: r.Size}
		is := assets.Asset{Name: norm.NFC.String(a.Name), Extension: a.Extension, CategoryID: a.CategoryID, FolderID: a.FolderID, Size: a.Size}
		if diff := gocmp.Diff(left, is); diff != "" {
			w.Errorf("%s is not as it was left (-left +is):\n%s", r.Key, diff)
		}
		if said := (metadata.Metadata{}); a.Metadata.Description != "" || collect.HasForeignTags(said, a) || collect.HasForeignAttributes(said, a) || collect.ChangedLater(r, a) {
			w.Errorf("%s is not described as it was left, or was changed later: %+v", r.Key, a)
		}
	}
}

// TestMoveOfAFolder verifies that a renamed folder takes one request for a hundred of its assets
// and no upload, and that one page of each list has the new modification times.
func TestMoveOfAFolder(t *testing.T) {
	t.Parallel()
	n := 10_000
	if slowdown > 1 {
		n = 500
	}
	for _, bumps := range []bool{false, true} {
		t.Run(fmt.Sprint("moving is changing: ", bumps), func(t *testing.T) {
			now := &clock{}
			w := newWorld(t, now.of)
			for n := range n {
				w.put(fmt.Sprintf("old/%05d.jpg", n), fmt.Sprint(n))
			}
			w.migrateAt(now)
			var items []state.Item
			for r, err := range w.store.Receipts(t.Context(), w.pair.ID, "") {
				must(t, err)
				name := strings.TrimPrefix(string(r.Key), "old/")
				w.source.Delete(r.Key)
				o := w.source.Put(sources.Key("new/"+name), []byte(strings.TrimLeft(strings.TrimSuffix(name, ".jpg"), "0")))
				items = append(items, state.Item{Object: sources.Object{Key: sources.Key("new/" + name), Size: r.Size, Time: o.Time, VersionTag: o.VersionTag}, Action: state.Move,
					Reason: string(migrate.ReasonMoved), State: state.ItemPlanned, Category: w.images, Folder: "new", Name: name, PreviousKey: r.Key, Asset: r.Asset})
			}
			now.passes(20 * time.Minute)
			if bumps {
				defer w.bumps(now)()
			}
			plan := w.planSync(syncRules("keep"), items...)
			asked := w.during(func() { w.completes(plan, func(a *apply.Applier) { a.Now = now.now }) })
			want := map[string]int{"POST /assets/move": n / 100, "GET /assets": n / 100, "POST /folders": 1}
			for what, n := range want {
				if asked[what] != n {
					t.Errorf("%d times %s, want %d, of %v", asked[what], what, n, asked)
				}
			}
			if asked["POST /assets"]+asked["GET /assets/{id}"] > 0 || !bumps && asked["PATCH /assets/{id}"] > 0 {
				t.Errorf("asked for %v", asked)
			}
			w.wantStates(plan, map[string]int64{"move done": int64(n)})
			if n > 500 {
				return
			}
			w.wantAsLeft()
		})
	}
}

// bumps makes the service count a move as a modification of the asset, until the returned function
// is called.
func (w *world) bumps(now *clock) (stop func()) {
	return w.answers("/assets/move", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		for _, part := range strings.Split(body, `"assetId":"`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			if _, err := w.other.Update(w.Context(), id, assets.Changes{Tags: &[]string{}}); err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(withBody(r, body))
	})
}

// TestMoveBack verifies that an asset that a user moved and renamed is moved to its place again.
func TestMoveBack(t *testing.T) {
	w := newWorld(t)
	w.put("dir/a.jpg", "a", "dir/b.jpg", "b", "gone.jpg", "gone")
	w.migrate(migrate.DefaultRules())
	mine := "mine"
	_, err := w.other.Update(t.Context(), w.assetOf("dir/a.jpg").ID, assets.Changes{Name: &mine})
	must(t, err)
	must(t, w.other.Move(t.Context(), assets.Target{FolderID: w.folder(w.images, "", "elsewhere")},
		assets.Transfer{AssetID: w.assetOf("dir/a.jpg").ID}, assets.Transfer{AssetID: w.assetOf("dir/b.jpg").ID}))
	var items []state.Item
	for _, key := range []string{"dir/a.jpg", "dir/b.jpg", "gone.jpg"} {
		dir, name := sources.Key(key).Split()
		i := w.wants(state.Move, key, w.images, dir, name)
		i.PreviousKey, i.Asset = sources.Key(key), w.receipt(key).Asset
		items = append(items, i)
	}
	w.trash("gone.jpg")
	plan := w.planSync(syncRules("keep"), items...)
	w.completes(plan)
	w.wantStates(plan, map[string]int64{"move done": 2, "move failed": 1})
	w.wantAssets([]placed{{"Images", "dir", "a.jpg", checksum("a")}, {"Images", "dir", "b.jpg", checksum("b")}})
	if i := w.item(plan, "gone.jpg"); !strings.Contains(i.Error, "was deleted at the destination") {
		t.Errorf("it failed with %q", i.Error)
	}
	w.wantAsLeft("gone.jpg")
}

// TestMoveWhereANameIsTaken verifies that a name that is taken at the new place affects only the
// asset of that name, and that the new name counts, not the former one.
func TestMoveWhereANameIsTaken(t *testing.T) {
	w := newWorld(t)
	w.put("old/a.jpg", "a", "old/b.jpg", "b", "old/c.jpg", "c", "old/d.jpg", "d")
	w.migrate(migrate.DefaultRules())
	theirs := w.folder(w.images, "", "new")
	w.upload(w.images, theirs, "a.jpg", "theirs")
	w.upload(w.images, theirs, "b.jpg", "theirs, too")
	w.upload(w.images, theirs, "new d.jpg", "theirs as well")
	w.upload(w.images, theirs, "d.jpg", "and that")
	plan := w.planSync(syncRules("keep"),
		w.renames("old/a.jpg", "new/a.jpg", w.images, "new", "a.jpg"),
		w.renames("old/b.jpg", "new/other.jpg", w.images, "new", "other.jpg"), // taken only under its former name
		w.renames("old/c.jpg", "new/c.jpg", w.images, "new", "c.jpg"),
		w.renames("old/d.jpg", "new/new d.jpg", w.images, "new", "new d.jpg"), // taken under both names
	)
	w.completes(plan)
	w.wantStates(plan, map[string]int64{"move done": 2, "move failed": 2})
	w.wantAssets([]placed{
		{"Images", "new", "a.jpg", checksum("theirs")}, {"Images", "new", "b.jpg", checksum("theirs, too")}, {"Images", "new", "c.jpg", checksum("c")},
		{"Images", "new", "d.jpg", checksum("and that")}, {"Images", "new", "new d.jpg", checksum("theirs as well")}, {"Images", "new", "other.jpg", checksum("b")},
		{"Images", "old", "a.jpg", checksum("a")}, {"Images", "old", "d.jpg", checksum("d")},
	})
	if i := w.item(plan, "new/a.jpg"); !strings.Contains(i.Error, "another asset there may have its name") || !strings.Contains(i.Error, "409") {
		t.Errorf("it failed with %q", i.Error)
	}
	if r := w.receipt("old/a.jpg"); r.Name != "a" {
		t.Errorf("its receipt is %+v", r)
	}
}

// TestMoveWithoutNewName verifies that an asset that was moved, and whose new name is refused,
// keeps its name, and that the state database has that name.
func TestMoveWithoutNewName(t *testing.T) {
	w := newWorld(t, faults(t, "PATCH /assets/{id} status=400"))
	w.put("old/a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	plan := w.planSync(syncRules("keep"), w.renames("old/a.jpg", "new/b.jpg", w.images, "new", "b.jpg"))
	w.completes(plan)
	w.wantStates(plan, map[string]int64{"move failed": 1})
	if i := w.item(plan, "new/b.jpg"); !strings.Contains(i.Error, `keeps the name "a.jpg"`) {
		t.Errorf("it failed with %q", i.Error)
	}
	if r := w.receipt("new/b.jpg"); r.Filename() != "a.jpg" {
		t.Errorf("its receipt is %+v", r)
	}
}

// TestMoveIntoADeletedFolder verifies that a folder that a user deleted is created again.
func TestMoveIntoADeletedFolder(t *testing.T) {
	w := newWorld(t)
	w.put("old/a.jpg", "a", "new/b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	w.delete("/folders/" + w.receipt("new/b.jpg").Folder)
	w.completes(w.planSync(syncRules("keep"), w.renames("old/a.jpg", "new/a.jpg", w.images, "new", "a.jpg")))
	w.wantAssets([]placed{{"Images", "", "b.jpg", checksum("b")}, {"Images", "new", "a.jpg", checksum("a")}})
}

// TestOrderOfASync verifies that a sync moves first, then uploads, and trashes last.
func TestOrderOfASync(t *testing.T) {
	w := newWorld(t)
	plan := w.planSome()
	var order []string
	w.gate.on(func(_ int, r *http.Request) error {
		if r.Method == http.MethodPost {
			order = append(order, r.URL.Path)
		}
		return nil
	})
	w.completes(plan)
	if diff := gocmp.Diff([]string{"/folders", "/assets/move", "/assets", "/assets/trash"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.wantStates(plan, map[string]int64{"move done": 1, "create done": 1, "trash done": 1})
	if _, err := w.store.Receipt(t.Context(), w.pair.ID, "gone.jpg"); err == nil {
		t.Error("what was trashed has a receipt")
	}
}

// planSome plans a sync that moves, uploads and trashes.
func (w *world) planSome() migrate.Plan {
	w.put("a.jpg", "a", "gone.jpg", "gone", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	move := w.renames("a.jpg", "dir/a.jpg", w.images, "dir", "a.jpg")
	w.put("new.jpg", "new")
	return w.planSync(syncRules("keep"), move, w.wants(state.Create, "new.jpg", w.images, "", "new.jpg"), w.loses("gone.jpg"))
}

// loses deletes an object, and returns the item that trashes its asset.
func (w *world) loses(key string) state.Item {
	w.Helper()
	r := w.receipt(key)
	w.source.Delete(sources.Key(key))
	return state.Item{Object: sources.Object{Key: sources.Key(key), Size: r.Size, Time: r.Time, VersionTag: r.VersionTag, Obstacle: "not at the source any more"},
		Action: state.Trash, Reason: string(migrate.ReasonGracePeriodOver), State: state.ItemPlanned, Category: r.Category, Name: r.Filename(), Asset: r.Asset}
}

// TestTrashWaitsForTheRest verifies that nothing is trashed, and the run stays open, while an item
// is unconfirmed or scheduled for retry. A permanently failed item does not delay it.
func TestTrashWaitsForTheRest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ answer, left string }{{"cut", "unconfirmed"}, {"429", "retry_scheduled"}, {"400", "failed"}} {
		w := newWorld(t)
		plan := w.planSome()
		w.gate.on(func(_ int, r *http.Request) error {
			switch {
			case isLook(r):
				return errors.New("the service is down")
			case r.Method == http.MethodPost && r.URL.Path == "/assets" && tc.answer == "cut":
				_, err := io.Copy(io.Discard, r.Body)
				return errors.Join(err, errors.New("cut"))
			}
			return nil
		})
		restore := func() {}
		if status, err := strconv.Atoi(tc.answer); err == nil {
			restore = w.answers("/assets", func(_ http.RoundTripper, r *http.Request, _ string) (*http.Response, error) {
				return reply(r, status, `{"statusCode":`+tc.answer+`,"message":"no","data":null,"traceId":"t"}`), nil
			})
		}
		must(t, w.applySync(t.Context(), w.deps(), plan, func(a *apply.Applier) { a.Wait, a.RetryPauses = 0, []time.Duration{time.Hour} }))
		restore()
		w.gate.on(nil)
		if tc.left == "failed" {
			w.wantFinished(plan)
			w.wantStates(plan, map[string]int64{"move done": 1, "create failed": 1, "trash done": 1})
		} else {
			w.wantStates(plan, map[string]int64{"move done": 1, "create " + tc.left: 1, "trash planned": 1})
		}
		if tc.left == "unconfirmed" {
			w.completes(plan)
			w.wantStates(plan, map[string]int64{"move done": 1, "create done": 1, "trash done": 1})
		}
		w.close()
	}
}

// TestMovesAreStopped verifies that a stopped sync completes the batch that it moves, and resumes
// later.
func TestMovesAreStopped(t *testing.T) {
	w := newWorld(t)
	w.putMany(150)
	w.migrate(migrate.DefaultRules())
	var items []state.Item
	for n := range 150 {
		name := fmt.Sprintf("%03d.jpg", n)
		items = append(items, w.renames(name, "dir/"+name, w.images, "dir", name))
	}
	plan := w.planSync(syncRules("keep"), items...)
	stop := make(chan struct{})
	restore := w.answers("/assets/move", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		close(stop)
		return next.RoundTrip(withBody(r, body))
	})
	err := w.applySync(t.Context(), w.deps(), plan, func(a *apply.Applier) { a.Stop = stop })
	restore()
	if err != migrate.ErrStopped {
		t.Errorf("it ended with %v", err)
	}
	w.wantStates(plan, map[string]int64{"move done": 100, "move planned": 50})
	w.completes(plan)
	w.wantStates(plan, map[string]int64{"move done": 150})
}

// TestMoveThatCameThroughIsKnown verifies that a completed move is recorded as soon as its run is
// resumed, even if the run ends again before another move. A process that gives the run up then
// finds the asset in its place.
func TestMoveThatCameThroughIsKnown(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	plan := w.planSync(syncRules("keep"), w.renames("a.jpg", "dir/a.jpg", w.images, "dir", "a.jpg"))
	w.before(failing(errNoDisk), "record outcomes")
	if err := w.applySync(t.Context(), w.deps(), plan); !errors.Is(err, errNoDisk) {
		t.Errorf("got %v, want the error of the state database", err)
	}
	w.unhook()
	stop := make(chan struct{})
	close(stop)
	if err := w.applySync(t.Context(), w.deps(), plan, func(a *apply.Applier) { a.Stop = stop }); err != migrate.ErrStopped {
		t.Errorf("got %v, want it stopped", err)
	}
	w.wantStates(plan, map[string]int64{"move done": 1})
}

// TestMoveThatCannotBeLookedAt verifies that a run resumes even if the service does not return one
// asset. The next attempt to move it shows its state.
func TestMoveThatCannotBeLookedAt(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	plan := w.planSync(syncRules("keep"), w.renames("a.jpg", "dir/a.jpg", w.images, "dir", "a.jpg"), w.renames("b.jpg", "dir/b.jpg", w.images, "dir", "b.jpg"))
	w.before(failing(errNoDisk), "record outcomes")
	if err := w.applySync(t.Context(), w.deps(), plan); !errors.Is(err, errNoDisk) {
		t.Errorf("got %v, want the error of the state database", err)
	}
	w.unhook()
	d := w.deps()
	d.Dest = unreadable{w.client, w.receipt("a.jpg").Asset}
	must(t, w.applySync(t.Context(), d, plan))
	w.wantFinished(plan)
	w.wantAssets([]placed{{"Images", "dir", "a.jpg", checksum("a")}, {"Images", "dir", "b.jpg", checksum("b")}})
}

// TestMoveThatLosesItsRights verifies that a move during which the token loses its permissions does
// not count as a change by users, and that the next run with permissions completes it.
func TestMoveThatLosesItsRights(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world){
		"to edit": func(w *world) {
			w.answers("/assets/"+w.receipt("old/a.jpg").Asset, func(_ http.RoundTripper, r *http.Request, _ string) (*http.Response, error) {
				return refuses(r, http.StatusForbidden), nil
			})
		},
		"after the first move":        func(w *world) { w.gate.next = forbiddingAfter{w.gate.next, "/assets/move", new(atomic.Bool)} },
		"before the first move":       func(w *world) { w.gate.next = forbidding{w.gate.next, "/assets/move"} },
		"to all of one asset":         func(w *world) { w.gate.next = forbidding{w.gate.next, "/assets/" + w.receipt("old/a.jpg").Asset} },
		"before the move of a second": func(w *world) { w.losesMoves(2) },
		"before the move of a third":  func(w *world) { w.losesMoves(3) },
		"before the move of a fourth": func(w *world) { w.losesMoves(4) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("old/a.jpg", "a", "old/c.jpg", "c", "old/d.jpg", "d", "old/e.jpg", "e", "old/f.jpg", "f")
			w.put("taken/d.jpg", "another")
			w.migrate(migrate.DefaultRules())
			w.renamed("old/a.jpg", "new/b.jpg")
			w.renamed("old/c.jpg", "new/c.jpg")
			w.renamed("old/d.jpg", "taken/g.jpg") // first refused there under its former name
			w.renamed("old/e.jpg", "third/e.jpg")
			next := w.gate.next
			lose(w)
			if _, err := w.try(t.Context(), syncRules("keep")); !assets.IsAuth(err) {
				t.Errorf("got %v, want that rights are missing", err)
			}
			w.gate.next = next
			w.relist(w.deps())
			plan, err := w.try(t.Context(), syncRules("keep"))
			must(t, err)
			w.wantFinished(plan)
			if got, _ := w.states(plan); got["conflict conflict"]+got["move failed"] > 0 {
				t.Errorf("it came to %v", got)
			}
			w.wantAssets([]placed{
				{"Images", "new", "b.jpg", checksum("a")}, {"Images", "new", "c.jpg", checksum("c")}, {"Images", "old", "f.jpg", checksum("f")},
				{"Images", "taken", "d.jpg", checksum("another")}, {"Images", "taken", "g.jpg", checksum("d")}, {"Images", "third", "e.jpg", checksum("e")},
			})
			w.wantAsLeft()
		})
	}
}

// TestMoveThatMayNotBeFinished verifies that an asset that can be moved but not renamed does not
// delay any other object, however long that lasts.
func TestMoveThatMayNotBeFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("old/a.jpg", "a", "old/c.jpg", "c", "d.jpg", "d")
	w.migrate(migrate.DefaultRules())
	w.renamed("old/a.jpg", "new/b.jpg")
	w.renamed("old/c.jpg", "new/e.jpg")
	w.answers("/assets/"+w.receipt("old/a.jpg").Asset, func(_ http.RoundTripper, r *http.Request, _ string) (*http.Response, error) {
		return refuses(r, http.StatusForbidden), nil
	})
	plan, err := w.try(t.Context(), syncRules("keep"))
	if !assets.IsAuth(err) {
		t.Errorf("got %v, want that rights are missing", err)
	}
	w.put("f.jpg", "f")
	must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), plan.Run))
	must(t, w.store.Relist(t.Context(), plan.Run.Num))
	plan, err = w.try(t.Context(), syncRules("keep"))
	must(t, err)
	w.wantFinished(plan)
	w.wantDecisions(plan, map[string]string{
		"new/b.jpg": decided(state.Conflict, migrate.ReasonAssetMoved) + " from old/a.jpg", "new/e.jpg": decided(state.Move, migrate.ReasonMoved) + " from old/c.jpg",
		"f.jpg": decided(state.Create, migrate.ReasonNew),
	})
	w.wantAssets([]placed{
		{"Images", "", "d.jpg", checksum("d")}, {"Images", "", "f.jpg", checksum("f")},
		{"Images", "new", "a.jpg", checksum("a")}, {"Images", "new", "e.jpg", checksum("c")},
	})
}

// losesMoves makes the service refuse all moves from the n-th request on.
func (w *world) losesMoves(n int) {
	asked := 0
	w.answers("/assets/move", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		if asked++; asked >= n {
			return refuses(r, http.StatusForbidden), nil
		}
		return next.RoundTrip(withBody(r, body))
	})
}

// TestMoveForbidden verifies that no further check is needed if the first request of a batch of
// moves is refused for lack of permissions.
func TestMoveForbidden(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets/move status=403"))
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	plan := w.planSync(syncRules("keep"), w.renames("a.jpg", "dir/a.jpg", w.images, "dir", "a.jpg"), w.renames("b.jpg", "dir/b.jpg", w.images, "dir", "b.jpg"))
	asked := w.during(func() {
		if err := w.applySync(t.Context(), w.deps(), plan); !assets.IsAuth(err) {
			t.Errorf("it ended with %v", err)
		}
	})
	if asked["GET /assets/{id}"] > 0 {
		t.Errorf("asked for %v", asked)
	}
	w.wantStates(plan, map[string]int64{"move planned": 2})
}

// TestRefusedMovesDoNotHideLostOnes verifies that a run that ends after too many refused moves
// still checks the moves without an answer.
func TestRefusedMovesDoNotHideLostOnes(t *testing.T) {
	w := newWorld(t)
	w.putMany(22)
	w.migrate(migrate.DefaultRules())
	var items []state.Item
	refused := map[string]int{}
	for n := range 22 {
		name, dir := fmt.Sprintf("%03d.jpg", n), "refused"
		if n < 20 {
			refused[w.receipt(name).Asset] = http.StatusForbidden
		} else {
			dir = "taken"
		}
		items = append(items, w.renames(name, dir+"/"+name, w.images, dir, name))
	}
	plan := w.planSync(syncRules("keep"), items...)
	no, err := json.Marshal(refused)
	must(t, err)
	asked := 0
	restore := w.answers("/assets/move", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		if asked++; asked == 1 {
			return reply(r, http.StatusMultiStatus, string(no)), nil
		}
		answer, err := next.RoundTrip(withBody(r, body))
		if err == nil {
			err = answer.Body.Close()
		}
		return nil, errors.Join(errors.New("connection lost"), err)
	})
	err = w.applySync(t.Context(), w.deps(), plan, func(a *apply.Applier) { a.RetryPauses = nil })
	restore()
	if _, broken := errors.AsType[*apply.BreakerError](err); !broken {
		t.Errorf("got %v, want the circuit breaker", err)
	}
	w.wantStates(plan, map[string]int64{"move done": 2, "move failed": 20})
}

// TestLostMoveDoesNotHideTheStateDatabase verifies that a move without an answer is checked, and
// that the run reports if the state database fails meanwhile.
func TestLostMoveDoesNotHideTheStateDatabase(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	plan := w.planSync(syncRules("keep"), w.renames("a.jpg", "dir/a.jpg", w.images, "dir", "a.jpg"))
	restore := w.answers("/assets/move", func(http.RoundTripper, *http.Request, string) (*http.Response, error) {
		w.before(failing(errNoDisk), "find upload record")
		return nil, errors.New("connection lost")
	})
	err := w.applySync(t.Context(), w.deps(), plan, func(a *apply.Applier) { a.RetryPauses = nil })
	restore()
	w.unhook()
	if !errors.Is(err, errNoDisk) {
		t.Errorf("got %v, want the error of the state database", err)
	}
	w.completes(plan)
	w.wantAssets([]placed{{"Images", "dir", "a.jpg", checksum("a")}})
}

// TestMoveBackWhatCannotBeRead verifies that only the asset that the service does not return fails,
// and that all others return to their places.
func TestMoveBackWhatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	elsewhere := w.folder(w.images, "", "elsewhere")
	var items []state.Item
	for _, key := range []string{"a.jpg", "b.jpg"} {
		must(t, w.other.Move(t.Context(), assets.Target{FolderID: elsewhere}, assets.Transfer{AssetID: w.assetOf(key).ID}))
		i := w.wants(state.Move, key, w.images, "", key)
		i.PreviousKey, i.Asset = sources.Key(key), w.receipt(key).Asset
		items = append(items, i)
	}
	plan := w.planSync(syncRules("keep"), items...)
	d := w.deps()
	d.Dest = unreadable{w.client, w.receipt("a.jpg").Asset}
	must(t, w.applySync(t.Context(), d, plan))
	w.wantFinished(plan)
	w.wantStates(plan, map[string]int64{"move done": 1, "move failed": 1})
	w.wantAssets([]placed{{"Images", "", "b.jpg", checksum("b")}, {"Images", "elsewhere", "a.jpg", checksum("a")}})
}

// An unreadable Reader fails to return one asset.
type unreadable struct {
	migrate.Reader
	asset string
}

func (u unreadable) Asset(ctx context.Context, id string) (assets.Asset, error) {
	if id == u.asset {
		return assets.Asset{}, refusal{retry.Permanent}
	}
	return u.Reader.Asset(ctx, id)
}
