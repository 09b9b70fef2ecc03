package engine

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata"
	"assetferry/internal/sandbox/sandboxtest"
	inject "assetferry/internal/test/faults"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/migrate/undo"
	"assetferry/state"
)

var sweepFlag = flag.String("sweep", "some", "all: have every single call fail in the sweeps, not a selection")

func sweepsAll() bool { return *sweepFlag == "all" }

// A blow makes one call fail in one way.
type blow struct {
	side, kind string
	deadly     bool // it ends the run
	strike     func(w *world, d *migrate.Deps, at *inject.Moment)
}

func (b blow) String() string { return b.side + ": " + b.kind }

// blows returns every kind of fault on every side.
func blows() (all []blow) {
	for _, k := range inject.TransportKinds() {
		all = append(all, blow{"transport", k.Name, false, func(w *world, _ *migrate.Deps, at *inject.Moment) {
			w.gate.next = &inject.Transport{Next: w.gate.next, Moment: at, Kind: k}
		}})
	}
	for _, k := range inject.SourceKinds() {
		all = append(all, blow{"source", k.Name, false, func(_ *world, d *migrate.Deps, at *inject.Moment) {
			d.Source = &inject.Source{Source: d.Source, Moment: at, Kind: k}
		}})
	}
	for _, k := range inject.StateFaults() {
		all = append(all, blow{"state database", k.Name, true, func(w *world, _ *migrate.Deps, at *inject.Moment) {
			w.hook(k.Hook(at))
		}})
	}
	return all
}

// A sweep is a migration with any number of faults.
type sweep struct {
	workers                 int
	provenance, onCollision string
	restarts                bool          // the run is given up afterwards instead of resumed
	approved                bool          // the plan was made before and approved
	described               bool          // the description of each asset is the key of its object
	scanner                 apply.Scanner // nil for none
	reading                 string
	want                    shape
}

func (s sweep) String() string {
	return fmt.Sprintf("%d workers, restarts %v, approved %v, %s", s.workers, s.restarts, s.approved, s.reading)
}

// A byKey describes objects by their keys.
type byKey struct{}

func (byKey) AsksForChecksums() bool { return false }

func (byKey) Describe(o metadata.Identity) (metadata.Fields, bool, error) {
	return asFields(byKey{}.of(o.Key)), true, nil
}

func (byKey) of(key string) metadata.Metadata {
	return metadata.Metadata{Description: key, Tags: []string{"key"}}.Normal()
}

// A shape is a destination as users see it.
type shape struct {
	Assets  []placed
	Folders map[string]int // and categories, by path
}

// sweeps returns the migrations of the tests, which differ in the path of an item, with the
// destination that each has without faults.
func sweeps(t *testing.T) (all []sweep) {
	t.Helper()
	for n, s := range []sweep{
		{workers: 1, provenance: "never", onCollision: "rename"},
		{workers: 8, provenance: "always", onCollision: "keep", described: true},
		{workers: 4, provenance: "never", onCollision: "rename", restarts: true, described: true},
		{workers: 4, provenance: "always", onCollision: "rename", approved: true, scanner: &wordScanner{}},
	} {
		s.reading = sandboxtest.Reading(n)
		w := newWorld(t, reading(t, s.reading))
		if bad := s.finish(w, s.begin(w)); bad != "" {
			t.Fatalf("without any fault: %s", bad)
		}
		s.want = shape{w.assetsAt(), w.folders()}
		for place, n := range s.want.Folders {
			if n != 1 {
				t.Errorf("%s is there %d times, without any fault", place, n)
			}
		}
		if got, want := len(s.want.Assets), varied+1; got != want {
			t.Errorf("%d assets without any fault, want %d: %v", got, want, s.want.Assets)
		}
		w.close()
		all = append(all, s)
	}
	return all
}

// varied is the number of objects in a varied library.
const varied = 14

// varied stores a library with every kind of object, and three assets at its destination: two to be
// adopted, and one that is not ours.
func (w *world) varied() {
	w.put("a.jpg", "a", "dir/b.png", "b", "dir/deep/er/c.txt", "c", "dir/d e+%&#?.jpg", "d", "empty.bin", "", "ä/ö.txt", "umlaut",
		"X.txt", "1", "x.txt", "2", "new.odd", "odd", "there/same.txt", "equal", "there/too/e.jpg", "e",
		"twins/e\u0301.txt", "twin", "twins/\u00e9.txt", "twin", // names that are equal and, here, contents that are identical
		"large.bin", strings.Repeat("0123456789abcdef", 20<<10))
	w.upload(w.texts, "", "X.txt", "1")
	w.upload(w.texts, w.folder(w.texts, "", "there"), "same.txt", "equal")
	w.upload(w.images, "", "foreign.jpg", "not ours")
}

func (s sweep) rules() migrate.Rules {
	r := migrate.DefaultRules()
	r.Unsupported, r.OnCollision = "create", s.onCollision
	return r
}

func (s sweep) applier(a *apply.Applier) {
	a.Concurrency, a.Provenance = s.workers, s.provenance
	a.Wait = 20 * short // an outage of a sweep does not pass
	if s.scanner != nil {
		a.Scan = s.scanner
	}
}

func (s sweep) deps(w *world) migrate.Deps {
	d := w.deps()
	if s.described {
		d.Describer = byKey{}
	}
	return d
}

// A hit is a blow at a call, counting from 0, or at all calls from that one on.
type hit struct {
	blow
	at    int
	lasts bool
}

func (h hit) String() string { return fmt.Sprintf("%v at call %d%s", h.blow, h.at, lasting(h.lasts)) }

func lasting(lasts bool) string {
	if lasts {
		return " and after it"
	}
	return ""
}

func (h hit) moment() *inject.Moment {
	if h.lasts {
		return inject.From(h.at)
	}
	return inject.At(h.at)
}

// begin stores a library, and returns the approval of its plan if the sweep has one.
func (s sweep) begin(w *world) *plan.Approval {
	w.Helper()
	w.varied()
	if !s.approved {
		return nil
	}
	return w.approve(s.rules())
}

// try migrates, or applies the approved plan.
func (s sweep) try(w *world, d migrate.Deps, a *plan.Approval) (migrate.Plan, error) {
	if a != nil {
		return w.tryApproved(w.Context(), d, a, s.rules(), s.applier)
	}
	return w.tryWith(w.Context(), d, s.rules(), s.applier)
}

// survives migrates with a fault and then without one, and compares the result. It reports whether
// the fault occurred.
func (s sweep) survives(t *testing.T, hits ...hit) bool {
	t.Helper()
	w := newWorld(t, reading(t, s.reading))
	defer w.close()
	approval := s.begin(w)
	transport, d := w.gate.next, s.deps(w)
	var moments []*inject.Moment
	for _, h := range hits {
		at := h.moment()
		h.strike(w, &d, at)
		moments = append(moments, at)
	}
	_, err := s.try(w, d, approval)
	w.gate.next = transport
	w.unhook()
	came := false
	for n, at := range moments {
		if came = came || at.Came(); at.Came() && hits[n].deadly && !errors.Is(err, inject.Err) {
			t.Errorf("%v: the run ended with %v, want the fault", hits, err)
		}
	}
	if !came {
		must(t, err)
	}
	if s.restarts {
		s.giveUp(w)
	}
	if bad := s.finish(w, approval); bad != "" {
		t.Errorf("%v, after a run that ended with %v: %s", hits, err, bad)
	} else if diff := gocmp.Diff(s.want, shape{w.assetsAt(), w.folders()}); diff != "" {
		t.Errorf("%v, after a run that ended with %v (-want +got):\n%s", hits, err, diff)
	}
	return came
}

// giveUp ends a run as --restart does: it confirms the uploads of the run, and then a new run
// begins.
func (s sweep) giveUp(w *world) {
	w.Helper()
	run, err := w.store.Unfinished(w.Context(), w.pair)
	if errors.Is(err, state.ErrNotFound) {
		return
	}
	must(w, err)
	if run.State == state.Applying {
		must(w, w.applier(s.deps(w), s.applier).ConfirmUploads(w.Context(), run))
	}
	must(w, w.store.Supersede(w.Context(), run.Num))
}

// finish repeats the command, as a person would, until everything is done. It returns the problem
// that is left, if any.
func (s sweep) finish(w *world, a *plan.Approval) (bad string) {
	w.Helper()
	open := map[string]int64{}
	for range 4 {
		plan, err := s.try(w, s.deps(w), a)
		if err != nil {
			return fmt.Sprintf("a run without faults ended with %v", err)
		}
		run, err := w.store.Run(w.Context(), plan.Run.ID)
		must(w, err)
		open, _ = w.states(plan)
		for what := range open {
			if strings.HasSuffix(what, " "+string(state.ItemDone)) || what == "unchanged "+string(state.ItemSkipped) {
				delete(open, what)
			}
		}
		if run.State == state.Finished && len(open) == 0 {
			return s.check(w)
		}
	}
	return fmt.Sprintf("still not done after several runs without faults: %v", open)
}

// check compares the state database with the destination: each object has a receipt of an asset
// that exists, that no other object has, and that has the right metadata.
func (s sweep) check(w *world) (bad string) {
	w.Helper()
	w.wantSound()
	holder := map[string]string{}
	for r, err := range w.store.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		if other, twice := holder[r.Asset]; twice {
			return fmt.Sprintf("%s and %s have one asset", r.Key, other)
		}
		holder[r.Asset] = string(r.Key)
		a, err := w.other.Asset(w.Context(), r.Asset)
		switch marked := a.Metadata.CustomAttributes["assetferry"] != nil; {
		case err != nil || a.Size != r.Size:
			return fmt.Sprintf("the asset of %s has %d bytes (%v), want %d", r.Key, a.Size, err, r.Size)
		case marked != (s.provenance == "always") && !r.Adopted:
			return fmt.Sprintf("the asset of %s carries its provenance: %v", r.Key, marked)
		case s.described && !r.Adopted:
			m := byKey{}.of(string(r.Key))
			kept, err := w.store.DescribedAs(w.Context(), w.pair.ID, r.Key)
			if must(w, err); a.Metadata.Description != m.Description || !slices.Equal(a.Tags, m.Tags) || kept.Metadata != m.Encode() {
				return fmt.Sprintf("the asset of %s is described as %q, %q, and that is kept as %q", r.Key, a.Metadata.Description, a.Tags, kept)
			}
		}
	}
	// The intent of a category stays if its run was given up; it has no effect.
	if intents, err := w.store.Intents(w.Context(), w.pair.Destination); err != nil || len(intents) > 0 && !s.restarts {
		return fmt.Sprintf("intents are left: %v (%v)", intents, err)
	}
	if len(holder) != varied {
		return fmt.Sprintf("%d receipts, want %d", len(holder), varied)
	}
	return ""
}

// TestSweep makes the n-th call to the service, the source or the state database fail, in every
// way, and repeats the command without faults. It verifies that in the end everything exists once.
// The short form tries some n of each kind. The long form, with n = 0, 1, 2 … until a run meets no
// fault, is
//
//	go test ./internal/test/engine -run Sweep -sweep=all -timeout 60m -v
//
// For half of the migrations the service has one interpretation of undocumented behaviour, for the
// other half the other; the flag -reading, such as
//
//	go test ./internal/test/engine -run Sweep -sweep=all -timeout 60m -v -reading "folders: flat; category_listing: deep"
//
// sets it for all.
func TestSweep(t *testing.T) { sweepThrough(t, 12, false) }

// TestSweepOfOutages is the same, but all calls after the n-th fail as well until the next run.
func TestSweepOfOutages(t *testing.T) { sweepThrough(t, 30, true) }

// sweepThrough makes a hit of each kind at every call, or in the short form at every step-th, in
// one of the sweeps.
func sweepThrough(t *testing.T, step int, lasts bool) {
	random := seedtest.Rand(t)
	if step *= slowdown; sweepsAll() {
		step = 1
	}
	all := sweeps(t)
	for _, b := range blows() {
		some := all
		if !sweepsAll() {
			some = []sweep{all[random.IntN(len(all))]}
		}
		for _, s := range some {
			first := random.IntN(step)
			t.Run(fmt.Sprintf("%v, %v", b, s), func(t *testing.T) {
				t.Parallel()
				n := first
				for s.survives(t, hit{b, n, lasts}) {
					n += step
				}
				t.Logf("%d runs, with faults at calls %d to %d", (n-first)/step, first, n-1)
			})
		}
	}
}

// TestSweepOfPairs makes two calls of one run fail, both chosen at random.
func TestSweepOfPairs(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t)
	pairs := 16 / slowdown
	if sweepsAll() {
		pairs = 2000
	}
	all, blows := sweeps(t), blows()
	for range pairs {
		s := all[random.IntN(len(all))]
		first, second := randomHit(random, blows), randomHit(random, blows)
		t.Run(fmt.Sprintf("%v, %v, %v", first, second, s), func(t *testing.T) {
			t.Parallel()
			s.survives(t, first, second)
		})
	}
}

func randomHit(random *rand.Rand, blows []blow) hit {
	return hit{blows[random.IntN(len(blows))], random.IntN(60), random.IntN(4) == 0}
}

// TestSweepOfUndo makes a call fail while a run is undone, alone or with all later ones, and
// repeats the undo without faults. It verifies that the destination is as it was before the run,
// and that another migration creates everything once.
func TestSweepOfUndo(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t)
	step := 7 * slowdown
	if sweepsAll() {
		step = 1
	}
	s := sweeps(t)[random.IntN(2)]
	for _, b := range blows() {
		if b.side == "source" { // undo does not read the source
			continue
		}
		first, lasts := random.IntN(step), random.IntN(3) == 0
		t.Run(fmt.Sprintf("%v%s", b, lasting(lasts)), func(t *testing.T) {
			t.Parallel()
			n := first
			for s.survivesUndo(t, hit{b, n, lasts}) {
				n += step
			}
			t.Logf("%d undos, with faults at calls %d to %d", (n-first)/step, first, n-1)
		})
	}
}

// survivesUndo undoes a migration with a fault, and reports whether the fault occurred.
func (s sweep) survivesUndo(t *testing.T, h hit) bool {
	t.Helper()
	w := newWorld(t, reading(t, s.reading))
	defer w.close()
	w.varied()
	before := w.assetsAt()
	made, err := w.tryWith(t.Context(), s.deps(w), s.rules(), s.applier)
	must(t, err)

	transport, d, at := w.gate.next, w.deps(), h.moment()
	h.strike(w, &d, at)
	impatient := func(u *undo.Undoer) { u.RetryPauses, u.Wait = []time.Duration{short}, 3*short }
	_, err = w.undoRun(t.Context(), d, made.Run.ID, true, impatient)
	w.gate.next = transport
	w.unhook()
	switch {
	case at.Came() && h.deadly && !errors.Is(err, inject.Err):
		t.Errorf("%v: the undo ended with %v, want the fault", h, err)
	case !at.Came():
		must(t, err)
	}
	undo, again := w.undoRun(t.Context(), w.deps(), made.Run.ID, true, impatient)
	if again != nil {
		t.Fatalf("%v, after an undo that ended with %v: the next one with %v", h, err, again)
	}
	w.wantSound()
	if diff := gocmp.Diff(before, w.assetsAt()); diff != "" {
		open, _ := w.states(undo)
		t.Errorf("%v, after an undo that ended with %v and one that came to %v (-want +got):\n%s", h, err, open, diff)
	}
	if sum, err := w.store.SumReceipts(t.Context(), w.pair.ID); err != nil || sum.Objects != 2 {
		t.Errorf("%v: %d receipts are left (%v)", h, sum.Objects, err)
	}
	if bad := s.finish(w, nil); bad != "" {
		t.Errorf("%v: migrated again: %s", h, bad)
	} else if diff := gocmp.Diff(s.want, shape{w.assetsAt(), w.folders()}); diff != "" {
		t.Errorf("%v: migrated again (-want +got):\n%s", h, diff)
	}
	return at.Came()
}
