package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/migrate/apply"
)

var errNoDisk = errors.New("input/output error")

// TestNothingIsConfirmedLaterWithoutTheStateDatabase verifies that an error of the state database
// also ends the run in a check before the confirmation timeout, and that no upload is confirmed.
func TestNothingIsConfirmedLaterWithoutTheStateDatabase(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
	w.put("a.jpg", "a")
	w.before(nth(0, failing(errNoDisk)), "look up asset")
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.ConfirmTimeout, a.ResponseTimeout = time.Second, time.Second })
	if !errors.Is(err, errNoDisk) {
		t.Errorf("got %v, want the error of the state database", err)
	}
	w.migrate(migrate.DefaultRules())
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}})
}

// TestNothingIsConfirmedWithoutTheStateDatabase verifies that the run ends if the state database
// fails while an upload is being confirmed, and does not check again: without the state database it
// cannot know whose an asset is.
func TestNothingIsConfirmedWithoutTheStateDatabase(t *testing.T) {
	t.Parallel()
	for n := range int64(2) { // first whether the asset is ours, then whether another source has it
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
			w.put("a.jpg", "a")
			w.before(nth(n, failing(errNoDisk)), "look up asset")
			if _, err := w.try(t.Context(), migrate.DefaultRules()); !errors.Is(err, errNoDisk) {
				t.Errorf("got %v, want the error of the state database", err)
			}
			w.migrate(migrate.DefaultRules())
			w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}})
		})
	}
}

// TestLostUploadNextToNewNamesake verifies that an upload that was lost on its way is not matched
// to another user's asset of the same name, however new that asset is, with --on-existing create.
func TestLostUploadNextToNewNamesake(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"POST /assets drop=before nth=2", "POST /assets drop=after nth=2"} {
		w := newWorld(t, faults(t, fault))
		theirs := w.upload(w.images, "", "a.jpg", "equal") // the first
		rules := migrate.DefaultRules()
		rules.OnExisting = "create"
		w.put("a.jpg", "equal")
		plan := w.migrate(rules)
		if r := w.receipt("a.jpg"); r.Asset == theirs.ID {
			t.Errorf("%s: the asset of somebody else stands for it", fault)
		}
		if i := w.item(plan, "a.jpg"); strings.Contains(i.Error, theirs.ID) {
			t.Errorf("%s: people are told %q", fault, i.Error)
		}
		if n := len(w.assetsAt()); n != 2 {
			t.Errorf("%s: there are %d assets, want 2", fault, n)
		}
	}
}
