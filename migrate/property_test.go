package migrate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// drawLibrary draws a small tree in which names differ in no more than case and
// Unicode form more often than not.
func drawLibrary(t *rapid.T) map[sources.Key][]byte {
	dirs := []string{"", "d/", "D/", "d/e/", "\u00e9/", "e\u0301/"}
	names := []string{"a", "A", "\u00e9", "e\u0301", "\u00c9", "b"}
	extensions := []string{"jpg", "JPG", "png", "txt", "odd"}
	contents := map[string][]byte{"none": {}, "x": []byte("x"), "y": []byte("y"), "64 KiB": make([]byte, 64<<10)}
	library := map[sources.Key][]byte{}
	for range rapid.IntRange(0, 14).Draw(t, "objects") {
		key := rapid.SampledFrom(dirs).Draw(t, "dir") + rapid.SampledFrom(names).Draw(t, "name") + "." + rapid.SampledFrom(extensions).Draw(t, "extension")
		library[sources.Key(key)] = contents[rapid.SampledFrom([]string{"none", "x", "y", "64 KiB"}).Draw(t, "content")]
	}
	return library
}

// oracle says where everything has to end up with the rules of the test. It is
// written from the documentation, not from the engine.
func oracle(library map[sources.Key][]byte) []placed {
	categories := map[string]string{"jpg": "Images", "png": "Images", "txt": "Texts", "odd": "Other files"}
	keys := make([]string, 0, len(library))
	for key := range library {
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	taken := map[string]bool{}
	all := []placed(nil)
	for _, key := range keys {
		dir, name := path.Split(norm.NFC.String(key))
		extension := path.Ext(name)
		p := placed{categories[strings.ToLower(extension[1:])], strings.TrimSuffix(dir, "/"), name, digest(string(library[sources.Key(key)]))}
		fold := func() string {
			return p.Category + "\x00" + p.Folder + "\x00" + norm.NFC.String(cases.Fold().String(p.Name))
		}
		if taken[fold()] {
			sum := sha256.Sum256([]byte(key))
			p.Name = strings.TrimSuffix(name, extension) + "~" + hex.EncodeToString(sum[:3]) + extension
		}
		taken[fold()] = true
		all = append(all, p)
	}
	sortPlaced(all)
	return all
}

// A run that is cut short anywhere, and continued until it is finished, ends as
// one that was not, and accounts for every object.
func TestInterruptedAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		library := drawLibrary(rt)
		w := newWorld(t, faults(t, drawFaults(rt)...))
		defer w.close()
		w.source.Replace(library)
		r := migrate.DefaultRules()
		r.Unmatched = "create"
		for attempt := 0; ; attempt++ {
			plan, err := w.tryInterrupted(rt, r, attempt)
			if attempt == 20 || err != nil && !errors.Is(err, errPulled) {
				rt.Fatalf("after %d attempts: %v", attempt, err)
			}
			if err == nil && w.isDone(rt, plan, int64(len(library))) {
				break
			}
		}
		if diff := gocmp.Diff(oracle(library), w.assetsAt()); diff != "" {
			rt.Errorf("at the destination (-want +got):\n%s", diff)
		}
		for path, n := range w.folders() {
			if n != 1 {
				rt.Errorf("%s is there %d times", path, n)
			}
		}
	})
}

// isDone reports whether everything has arrived. A run may also be left open, with
// items in doubt, or be finished with some that failed; then another one is due.
func (w *world) isDone(t *rapid.T, plan migrate.Plan, objects int64) bool {
	states, listed := w.states(plan)
	if listed != objects {
		t.Fatalf("%d objects, and the run accounts for %v", objects, states)
	}
	run, err := w.journal.Run(w.Context(), plan.Run.ID)
	must(w, err)
	open := states["create in_doubt"]+states["adopt in_doubt"] > 0
	if open != (run.State == state.Applying) || !open && run.State != state.Finished {
		t.Fatalf("the run is %s with %v", run.State, states)
	}
	return states["create done"]+states["adopt done"]+states["unchanged skipped"] == objects
}

var errPulled = errors.New("the plug was pulled")

// tryInterrupted cancels at some request, and now and then lists anew; from a
// certain attempt on it lets the run finish.
func (w *world) tryInterrupted(t *rapid.T, r migrate.Rules, attempt int) (migrate.Plan, error) {
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	w.gate.on(nil)
	if attempt < 4 {
		at := rapid.IntRange(1, 40).Draw(t, "interrupted at request")
		w.gate.on(func(n int, _ *http.Request) error {
			if n >= at {
				cancel(errPulled)
			}
			return nil
		})
		if attempt > 0 && rapid.IntRange(0, 3).Draw(t, "list anew") == 0 {
			w.relist()
		}
	}
	return w.try(ctx, r)
}

// relist does what the command does with a run whose listing is old.
func (w *world) relist() {
	w.Helper()
	run, err := w.journal.Unfinished(w.Context(), w.pair.ID)
	if errors.Is(err, state.ErrNotFound) {
		return
	}
	must(w, err)
	a := w.applier(w.deps())
	a.Dest, a.Write = w.other, nil // settling writes nothing
	must(w, a.SettleDoubts(w.Context(), run))
	must(w, w.journal.Relist(w.Context(), run.Num))
}

func drawFaults(t *rapid.T) []string {
	all := []string{
		"POST /assets drop=after nth=%d", "POST /assets drop=before nth=%d", "POST /assets status=503 commit=after nth=%d",
		"POST /assets status=429 nth=%d", "POST /folders drop=after nth=%d", "GET /assets status=500 nth=%d",
	}
	var drawn []string
	for _, f := range rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 2, rapid.ID).Draw(t, "faults") {
		drawn = append(drawn, fmt.Sprintf(f, rapid.IntRange(2, 6).Draw(t, "nth")))
	}
	return drawn
}
