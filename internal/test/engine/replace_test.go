package engine

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/state"
)

// changesTo gives an object other content, and returns the item that replaces the content of its
// asset.
func (w *world) changesTo(key, content string) state.Item {
	w.Helper()
	r := w.receipt(key)
	w.put(key, content)
	i := w.wants(state.Replace, key, r.Category, "", r.Filename())
	i.Asset = r.Asset
	return i
}

func (w *world) revisions(asset string) int {
	w.Helper()
	all, err := w.other.Revisions(w.Context(), asset)
	must(w, err)
	return len(all)
}

// TestReplaces verifies that a replaced asset keeps its ID and URL, and that its former content is
// kept.
func TestReplaces(t *testing.T) {
	for _, provenance := range []string{"never", "always"} {
		w := newWorld(t)
		w.upload(w.images, "", "adopted.jpg", "adopted")
		w.put("a.jpg", "a", "adopted.jpg", "adopted", "b.jpg", "b")
		with := func(a *apply.Applier) { a.Provenance = provenance }
		_, err := w.try(t.Context(), migrate.DefaultRules(), with)
		must(t, err)
		before := w.receipt("a.jpg")
		plan := w.planSync(syncRules("keep"), w.changesTo("a.jpg", "a, and more"), w.changesTo("adopted.jpg", "ADOPTED"))
		asked := w.during(func() { w.completes(plan, with) })
		want := map[string]int{"POST /assets/{id}": 2, "PATCH /assets/{id}": 2}
		if provenance == "never" {
			delete(want, "PATCH /assets/{id}")
		}
		if diff := gocmp.Diff(want, asked); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", provenance, diff)
		}
		w.wantStates(plan, map[string]int64{"replace done": 2})
		w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a, and more")}, {"Images", "", "adopted.jpg", checksum("ADOPTED")}, {"Images", "", "b.jpg", checksum("b")}})
		after := w.receipt("a.jpg")
		if after.Asset != before.Asset || after.URL != before.URL || after.Slot != before.Slot || after.Run != plan.Run.Num || after.Size != 11 {
			t.Errorf("before %+v, after %+v", before, after)
		}
		if !w.receipt("adopted.jpg").Adopted {
			t.Error("what was adopted is ours now")
		}
		if n := w.revisions(after.Asset); n != 2 {
			t.Errorf("%d revisions", n)
		}
		w.verifies()
		again, err := w.try(t.Context(), migrate.DefaultRules(), with)
		must(t, err)
		w.wantStates(again, map[string]int64{"unchanged skipped": 3})
		w.wantAsLeft()
		w.close()
	}
}

// TestLostAnswersToReplacingAreConfirmed verifies that, after a lost answer, the run checks whether
// the content was replaced, and does not send it again if it was.
func TestLostAnswersToReplacingAreConfirmed(t *testing.T) {
	t.Parallel()
	for fault, revisions := range map[string]int{
		"drop=after nth=2": 2, "drop=after": 2, "status=503 commit=after nth=3": 2, "status=500 nth=5": 2, "drop=before nth=5": 2,
		"status=200 nth=5": 2, "status=200 commit=after nth=2": 2,
	} {
		t.Run(fault, func(t *testing.T) {
			w := newWorld(t, faults(t, "POST /assets/{id} "+fault))
			w.putMany(6)
			w.migrate(migrate.DefaultRules())
			var items []state.Item
			var want []placed
			for n := range 6 {
				content := fmt.Sprintf("changed %d", n)
				items = append(items, w.changesTo(fmt.Sprintf("%03d.jpg", n), content))
				want = append(want, placed{"Images", "", fmt.Sprintf("%03d.jpg", n), checksum(content)})
			}
			plan := w.planSync(syncRules("keep"), items...)
			w.completes(plan)
			w.wantStates(plan, map[string]int64{"replace done": 6})
			w.wantAssets(want)
			for _, i := range items {
				if n := w.revisions(i.Asset); n != revisions {
					t.Errorf("%s has %d revisions, want %d", i.Key, n, revisions)
				}
			}
			w.verifies()
		})
	}
}

// TestKilledWhileReplacing verifies that the run finds the outcome of a killed process's items by
// their assets. An object that changed meanwhile is left for another plan.
func TestKilledWhileReplacing(t *testing.T) {
	t.Parallel()
	for _, confirmOnly := range []bool{false, true} {
		w := newWorld(t)
		w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
		w.migrate(migrate.DefaultRules())
		plan := w.planSync(syncRules("keep"), w.changesTo("a.jpg", "A"), w.changesTo("b.jpg", "B"), w.changesTo("c.jpg", "C"))
		must(t, w.store.SetRunState(t.Context(), plan.Run.Num, state.Planned, state.Applying))
		_, err := w.store.Take(t.Context(), plan.Run.Num, state.Next{N: 9, Time: time.Now()})
		must(t, err)
		w.replace("a.jpg", "A")
		w.put("c.jpg", "another")
		if confirmOnly {
			asked := w.during(func() { must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), plan.Run)) })
			if sent := writes(asked); len(sent) > 0 {
				t.Errorf("sent %v", sent)
			}
			w.wantStates(plan, map[string]int64{"replace done": 1, "replace planned": 2})
		} else {
			w.completes(plan)
			w.wantStates(plan, map[string]int64{"replace done": 2, "replace changed": 1})
			w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("A")}, {"Images", "", "b.jpg", checksum("B")}, {"Images", "", "c.jpg", checksum("c")}})
		}
		if n := w.revisions(w.receipt("a.jpg").Asset); n != 2 {
			t.Errorf("%d revisions", n)
		}
		w.close()
	}
}

// TestReplaceOfADeletedAsset verifies that replacing an asset that was deleted after the plan
// fails, and is reported.
func TestReplaceOfADeletedAsset(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	plan := w.planSync(syncRules("keep"), w.changesTo("a.jpg", "A"), w.changesTo("b.jpg", "B"))
	w.trash("a.jpg")
	w.completes(plan)
	w.wantStates(plan, map[string]int64{"replace done": 1, "replace failed": 1})
	if i := w.item(plan, "a.jpg"); !strings.Contains(i.Error, "was deleted at the destination") {
		t.Errorf("it failed with %q", i.Error)
	}
}

// TestReplaceRefused verifies that items fail if the service does not replace content, unless the
// user asks for new assets instead. The former assets are trashed only if the rules allow it.
func TestReplaceRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 405, 501} {
		for _, tc := range []struct{ refused, deletes, remark string }{
			{"fail", "never", "see --on-replace-refused"}, {"new-asset", "never", "keeps its URL"}, {"new-asset", "trash", "is in the trash"},
		} {
			w := newWorld(t)
			w.put("a.jpg", "a", "shared.jpg", "shared")
			w.migrate(migrate.DefaultRules())
			w.otherSource(w.assetOf("shared.jpg"))
			former := w.receipt("a.jpg").Asset
			r := syncRules("keep")
			r.Sync.OnReplaceRefused, r.Sync.Delete = tc.refused, tc.deletes
			plan := w.planSync(r, w.changesTo("a.jpg", "A"), w.changesTo("shared.jpg", "SHARED"))
			w.gate.next = refusing{w.gate.next, status}
			w.completes(plan)
			i := w.item(plan, "a.jpg")
			if !strings.Contains(i.Error, tc.remark) {
				t.Errorf("%d, %v: its error is %q", status, tc, i.Error)
			}
			want := []placed{{"Images", "", "a.jpg", checksum("a")}, {"Images", "", "shared.jpg", checksum("shared")}}
			if tc.refused == "new-asset" {
				w.wantStates(plan, map[string]int64{"replace done": 2})
				want = append(want, placed{"Images", "", "a.jpg", checksum("A")}, placed{"Images", "", "shared.jpg", checksum("SHARED")})
				if now := w.receipt("a.jpg"); now.Asset == former || w.content(w.assetOf("a.jpg")) != "A" {
					t.Errorf("%d, %v: its receipt is %+v", status, tc, now)
				}
			} else {
				w.wantStates(plan, map[string]int64{"replace failed": 2})
			}
			if tc.deletes == "trash" {
				want = want[1:]
			}
			sortPlaced(want)
			w.wantAssets(want)
			w.close()
		}
	}
}

// A refusing service has no route to replace content.
type refusing struct {
	http.RoundTripper
	status int
}

func (s refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isReplacing(r) {
		return s.RoundTripper.RoundTrip(r)
	}
	_, err := io.Copy(io.Discard, r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	return reply(r, s.status, fmt.Sprintf(`{"statusCode":%d,"message":"no","data":null,"traceId":"t"}`, s.status)), nil
}

func isReplacing(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, "/assets/")
	return ok && r.Method == http.MethodPost && len(rest) == len("ruNCx8j-BF98")
}

// TestReplaceRefusedAndAnswerLost verifies that a new asset whose answer was lost is found next to
// the former one.
func TestReplaceRefusedAndAnswerLost(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets drop=after once=2"))
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	r := syncRules("keep")
	r.Sync.OnReplaceRefused, r.Sync.Delete = "new-asset", "trash"
	plan := w.planSync(r, w.changesTo("a.jpg", "A"))
	w.gate.next = refusing{w.gate.next, 501}
	w.completes(plan)
	w.wantStates(plan, map[string]int64{"replace done": 1})
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("A")}})
	w.verifies()
}

// TestReplaceWithAnotherSize verifies that the former content is restored if the service reports
// another size than sent.
func TestReplaceWithAnotherSize(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	id := w.receipt("a.jpg").Asset
	w.replace("a.jpg", "of the same size as that") // an older revision
	w.replace("a.jpg", "a")
	plan := w.planSync(syncRules("keep"), w.changesTo("a.jpg", "A and more"), w.changesTo("b.jpg", "B"))
	restore := w.answers("/assets/"+id, func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		return next.RoundTrip(withBody(r, strings.Replace(body, "A and more", "A and", 1)))
	})
	w.completes(plan)
	restore()
	w.wantStates(plan, map[string]int64{"replace done": 1, "replace failed": 1})
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}, {"Images", "", "b.jpg", checksum("B")}})
	if i := w.item(plan, "a.jpg"); !strings.Contains(i.Error, "5 bytes instead of 10") || !strings.Contains(i.Error, "has its previous content again") {
		t.Errorf("it failed with %q", i.Error)
	}
	if r := w.receipt("a.jpg"); r.Size != 1 {
		t.Errorf("its receipt is %+v", r)
	}
}

// TestRepair verifies that an asset that users deleted, and that is created again, replaces the
// former one in the receipt.
func TestRepair(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	former := w.receipt("a.jpg").Asset
	w.trash("a.jpg")
	i := w.wants(state.Create, "a.jpg", w.images, "", "a.jpg")
	i.Reason = string(migrate.ReasonAssetDeletedCreated)
	plan := w.planSync(syncRules("keep"), i)
	w.completes(plan)
	w.wantStates(plan, map[string]int64{"create done": 1})
	if now := w.receipt("a.jpg"); now.Asset == former {
		t.Errorf("its receipt is %+v", now)
	}
	w.verifies()
}
