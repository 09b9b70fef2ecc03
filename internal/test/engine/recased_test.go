package engine

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/state"
)

// TestSyncOfARecasedName verifies that an object whose name changes only in case or Unicode form,
// and whose content changes too, keeps its asset, which gets both.
func TestSyncOfARecasedName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ before, after, name string }{
		{"Photo.jpg", "photo.jpg", "photo.jpg"},
		{"dir/a.JPG", "dir/a.jpg", "a.jpg"},
		{"Re\u0301sume\u0301.jpg", "R\u00e9sum\u00e9.jpg", "R\u00e9sum\u00e9.jpg"},
		{"r\u00c9sum\u00c9.jpg", "R\u00e9sum\u00e9.jpg", "R\u00e9sum\u00e9.jpg"},
	} {
		w := newWorld(t)
		w.put(tc.before, "before", "z.jpg", "z")
		w.syncs(syncing())
		before, evening := w.receipt(tc.before), w.evening()
		w.source.Delete(sources.Key(tc.before))
		w.put(tc.after, "after, and more")
		plan := w.syncs(syncing())
		w.wantStates(plan, map[string]int64{"replace done": 1, "unchanged skipped": 1})
		if i := w.item(plan, tc.after); i.Reason != string(migrate.ReasonContentAndNameChanged) || string(i.PreviousKey) != tc.before {
			t.Errorf("%s: planned %+v", tc.after, i)
		}
		after := w.receipt(tc.after)
		if after.Asset != before.Asset || after.URL != before.URL || after.Filename() != tc.name || after.Slot != before.Slot {
			t.Errorf("%s: before %+v, after %+v", tc.after, before, after)
		}
		if a := w.assetOf(string(after.Key)); a.Filename() != tc.name || w.content(a) != "after, and more" {
			t.Errorf("%s: the asset is %q with %q", tc.after, a.Filename(), w.content(a))
		}
		if asked := w.during(func() { w.syncs(syncing()) }); len(asked) > 0 {
			t.Errorf("%s: the next run asked %v", tc.after, asked)
		}
		w.wantSound()
		w.undo(plan)
		w.wantEvening(evening, "undone")
		w.wantSound()
	}
}

// TestSyncOfARecasedNameThatIsWantedTwice verifies that nothing uncertain is done about such a
// name: two objects cannot have one asset, and an asset that other objects share keeps its content.
func TestSyncOfARecasedNameThatIsWantedTwice(t *testing.T) {
	w := newWorld(t)
	w.put("Photo.jpg", "before")
	w.syncs(syncing())
	before := w.receipt("Photo.jpg")
	w.source.Delete("Photo.jpg")
	w.put("PHOTO.jpg", "one", "photo.jpg", "another")
	w.wantStates(w.syncs(syncing()), map[string]int64{"replace done": 1, "create done": 1})
	if r := w.receipt("PHOTO.jpg"); r.Asset != before.Asset || r.Filename() != "PHOTO.jpg" {
		t.Errorf("the first has %+v", r)
	}
	if r := w.receipt("photo.jpg"); r.Asset == before.Asset || r.Filename() == "photo.jpg" {
		t.Errorf("the second has %+v", r)
	}
	w.wantSound()
}

// TestRecasedNameAfterAFailure verifies that a failed renaming is repeated by another attempt,
// without another asset.
func TestRecasedNameAfterAFailure(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"POST /assets/{id} drop=after once=1", "POST /assets/{id} drop=before once=1",
		"PATCH /assets/{id} drop=after once=1", "PATCH /assets/{id} drop=before once=1", "PATCH /assets/{id} status=500 once=1",
		"PATCH /assets/{id} status=503 once=1, PATCH /assets/{id} status=503 once=2, PATCH /assets/{id} status=503 once=3", // all attempts of the client
	} {
		w := newWorld(t, faults(t, strings.Split(fault, ", ")...))
		w.put("Photo.jpg", "before")
		w.syncs(syncing())
		before := w.receipt("Photo.jpg")
		w.source.Delete("Photo.jpg")
		w.put("photo.jpg", "after")
		w.syncs(syncing())
		if r := w.receipt("photo.jpg"); r.Asset != before.Asset || r.Filename() != "photo.jpg" {
			t.Errorf("%s: got %+v", fault, r)
		}
		if n := w.revisions(before.Asset); n != 2 {
			t.Errorf("%s: %d revisions, want 2", fault, n)
		}
		if all := w.assetsAt(); len(all) != 1 || all[0].Name != "photo.jpg" || all[0].Checksum != checksum("after") {
			t.Errorf("%s: at the destination is %v", fault, all)
		}
		w.wantSound()
	}
}

// TestRecasedNameAfterTheRunHasEnded verifies that a run that ends between the new content of an
// asset and its new name leaves the renaming to the next run. The content counts as ours, not as an
// edit, and is not uploaded again.
func TestRecasedNameAfterTheRunHasEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(stop, abort func()) (status int){
		"told to stop, too many requests": func(stop, _ func()) int { stop(); return http.StatusTooManyRequests },
		"told to stop, unavailable":       func(stop, _ func()) int { stop(); return http.StatusServiceUnavailable },
		"aborted":                         func(_, abort func()) int { abort(); return http.StatusServiceUnavailable },
		"unavailable":                     func(_, _ func()) int { return http.StatusServiceUnavailable },
		"gateway timeout":                 func(_, _ func()) int { return http.StatusGatewayTimeout },
		"unauthorized":                    func(_, _ func()) int { return http.StatusUnauthorized },
	} {
		for _, listed := range []bool{true, false} { // whether the run is listed again, as the command does before it resumes
			t.Run(fmt.Sprintf("%s, listed again %t", name, listed), func(t *testing.T) {
				w := newWorld(t)
				w.put("Photo.jpg", "before", "z.jpg", "z")
				w.syncs(syncing())
				before := w.receipt("Photo.jpg")
				w.source.Delete("Photo.jpg")
				w.put("photo.jpg", "after")
				ctx, abort := context.WithCancel(t.Context())
				defer abort()
				reported := make(chan struct{})
				stop := sync.OnceFunc(func() { close(reported) })
				restore := w.answers("/assets/"+before.Asset, func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
					if r.Method != http.MethodPatch {
						return next.RoundTrip(withBody(r, body))
					}
					status := end(stop, abort)
					return reply(r, status, fmt.Sprintf(`{"statusCode":%d,"message":"no","data":null,"traceId":"t"}`, status)), nil
				})
				first, err := w.tryWith(ctx, w.deps(), syncing(), func(a *apply.Applier) { a.Stop = reported })
				restore()
				if i := w.item(first, "photo.jpg"); i.State != state.ItemUnconfirmed || !strings.Contains(i.Error, "its asset has the new content") {
					t.Errorf("the first run (%v) left %+v", err, i)
				}
				if listed {
					must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), first.Run))
					must(t, w.store.Relist(t.Context(), first.Run.Num))
				}
				second := w.syncs(syncing())
				if conflicts := w.statesOf(second, state.ItemConflict); conflicts > 0 {
					t.Errorf("%d conflicts", conflicts)
				}
				if r := w.receipt("photo.jpg"); r.Asset != before.Asset || r.Filename() != "photo.jpg" || r.Size != int64(len("after")) {
					t.Errorf("got %+v", r)
				}
				if a := w.assetOf("photo.jpg"); a.Filename() != "photo.jpg" || w.content(a) != "after" {
					t.Errorf("its asset is %+v", a)
				}
				if n := w.revisions(before.Asset); n != 2 {
					t.Errorf("%d revisions, want 2", n)
				}
				w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 2})
				w.wantSound()
			})
		}
	}
}

// TestSyncGivesAFreeNameBack verifies that an object gets its own name once the name is free that
// was taken at its upload.
func TestSyncGivesAFreeNameBack(t *testing.T) {
	w := newWorld(t)
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.put("dir/Photo.jpg", "one", "dir/photo.jpg", "another", "z.jpg", "z")
	w.syncs(removing)
	before := w.receipt("dir/photo.jpg")
	if before.Filename() == "photo.jpg" {
		t.Fatalf("got %+v", before)
	}
	if asked := w.during(func() { w.syncs(removing) }); len(asked) > 0 {
		t.Errorf("while the name was taken, a run asked %v", asked)
	}
	w.source.Delete("dir/Photo.jpg")
	w.syncs(removing)
	w.wantStates(w.syncs(removing), map[string]int64{"trash done": 1, "unchanged skipped": 2})
	plan := w.syncs(removing)
	w.wantStates(plan, map[string]int64{"move done": 1, "unchanged skipped": 1})
	if i := w.item(plan, "dir/photo.jpg"); i.Reason != string(migrate.ReasonNameAvailable) || i.State != state.ItemDone {
		t.Errorf("got %+v", i)
	}
	after := w.receipt("dir/photo.jpg")
	if after.Asset != before.Asset || after.Filename() != "photo.jpg" || w.assetOf(string(after.Key)).Filename() != "photo.jpg" {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if asked := w.during(func() { w.syncs(removing) }); len(asked) > 0 {
		t.Errorf("the run after that asked %v", asked)
	}
	w.wantSound()
}

// TestSyncOfARecasedNameAmongEquals verifies that, among several deleted objects with identical
// content, the one whose name differs only in case is matched: its content did not change, and
// nothing is uploaded.
func TestSyncOfARecasedNameAmongEquals(t *testing.T) {
	w := newWorld(t)
	w.put("Photo.jpg", "equal", "x/other.jpg", "equal", "z.jpg", "z")
	w.syncs(syncing())
	photo, other := w.receipt("Photo.jpg"), w.receipt("x/other.jpg")
	w.source.Delete("Photo.jpg")
	w.source.Delete("x/other.jpg")
	w.put("photo.jpg", "equal", "y/another.jpg", "equal")
	w.wantStates(w.syncs(syncing()), map[string]int64{"move done": 2, "unchanged skipped": 1})
	if got := w.receipt("photo.jpg"); got.Asset != photo.Asset {
		t.Errorf("photo.jpg has asset %s, want %s", got.Asset, photo.Asset)
	}
	if got := w.receipt("y/another.jpg"); got.Asset != other.Asset {
		t.Errorf("y/another.jpg has asset %s, want %s", got.Asset, other.Asset)
	}
	w.wantSound()
}

// TestRecasedNameOfOthers verifies that a name that another user's asset has, in another case, is
// not taken: the object is a conflict in each run, and no asset changes, until the name is free.
func TestRecasedNameOfOthers(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"before", "after"} { // a move, and a replacement
		t.Run(content, func(t *testing.T) {
			policies(t, func(w *world) {
				w.put("dir/Photo.jpg", "before", "z.jpg", "z")
				w.syncs(trashing())
				r := w.receipt("dir/Photo.jpg")
				theirs := w.upload(w.images, r.Folder, "photo.jpg", "theirs")
				w.source.Delete("dir/Photo.jpg")
				w.put("dir/photo.jpg", content)
				for range 6 { // more runs than it takes to exhaust retries
					plan := w.syncs(trashing())
					w.wantStates(plan, map[string]int64{"conflict conflict": 1, "unchanged skipped": 1})
					if i := w.item(plan, "dir/photo.jpg"); i.Reason != string(migrate.ReasonNameExists) {
						w.Errorf("got %+v", i)
					}
				}
				if got, err := w.other.Asset(w.Context(), r.Asset); err != nil || got.Filename() != "Photo.jpg" || w.content(got) != "before" {
					w.Errorf("its asset is %+v (%v)", got, err)
				}
				must(w, w.other.Trash(w.Context(), theirs.ID))
				w.syncs(trashing())
				if got := w.assetOf("dir/photo.jpg"); got.ID != r.Asset || got.Filename() != "photo.jpg" || w.content(got) != content {
					w.Errorf("its asset is %+v", got)
				}
				w.wantStates(w.syncs(trashing()), map[string]int64{"unchanged skipped": 2})
				w.wantSound()
			})
		})
	}
}

// TestRecasedNameThatIsTakenMeanwhile verifies that a run fails if the name is taken between plan
// and apply. The first run for which the name is free sets it, and no run in between fails.
func TestRecasedNameThatIsTakenMeanwhile(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"rename", "refuse"} {
		for _, content := range []string{"before", "after"} { // a move, and a replacement
			t.Run(policy+" "+content, func(t *testing.T) { isTakenMeanwhile(t, policy, content) })
			unknown := faults(t, "POST /assets/namesExist status=404")
			t.Run(policy+" "+content+" untold", func(t *testing.T) { isTakenMeanwhile(t, policy, content, unknown) })
		}
	}
}

// TestRecasedNameThatIsTakenMeanwhileUnconfirmed verifies the same if the answer to the replacement
// was lost.
func TestRecasedNameThatIsTakenMeanwhileUnconfirmed(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"rename", "refuse"} {
		t.Run(policy, func(t *testing.T) {
			isTakenMeanwhile(t, policy, "after", faults(t, "POST /assets/{id} drop=after once=1"))
		})
	}
}

func isTakenMeanwhile(t *testing.T, policy, content string, options ...func(*sandbox.Options)) {
	w := newWorld(t, append(options, func(o *sandbox.Options) { o.Profile.EqualAssets = policy })...)
	w.put("dir/Photo.jpg", "before", "z.jpg", "z")
	w.syncs(trashing())
	r := w.receipt("dir/Photo.jpg")
	w.source.Delete("dir/Photo.jpg")
	w.put("dir/photo.jpg", content)
	var theirs assets.Asset
	taken := sync.OnceFunc(func() { theirs = w.upload(w.images, r.Folder, "photo.jpg", "theirs") })
	w.gate.on(func(_ int, r *http.Request) error {
		if r.Method == http.MethodPatch {
			taken()
		}
		return nil
	})
	if failed := w.statesOf(w.syncs(trashing()), state.ItemFailed); failed != 1 {
		t.Errorf("%d failed, want 1", failed)
	}
	w.gate.on(nil)
	for range 4 {
		if failed := w.statesOf(w.syncs(trashing()), state.ItemFailed); failed > 0 {
			t.Errorf("%d failed", failed)
		}
	}
	must(t, w.other.Trash(t.Context(), theirs.ID))
	w.syncs(trashing())
	if got := w.assetOf("dir/photo.jpg"); got.ID != r.Asset || got.Filename() != "photo.jpg" || w.content(got) != content {
		t.Errorf("its asset is %+v", got)
	}
	w.wantStates(w.syncs(trashing()), map[string]int64{"unchanged skipped": 2})
	w.wantSound()
}

// statesOf counts the items of a run in a state.
func (w *world) statesOf(p migrate.Plan, wanted state.ItemState) (n int64) {
	w.Helper()
	tallies, err := w.store.Tallies(w.Context(), p.Run.Num)
	must(w, err)
	for _, t := range tallies {
		if t.State == wanted {
			n += t.Objects
		}
	}
	return n
}
