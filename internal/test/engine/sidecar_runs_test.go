package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"testing"

	inject "assetferry/internal/test/faults"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/state"
)

// putWithSidecars puts n objects, each with a sidecar.
func (w *world) putWithSidecars(n int) {
	for n := range n {
		key := fmt.Sprintf("%03d.txt", n)
		w.put(key, fmt.Sprint(n), key+".json", saying("of "+key))
	}
}

// A part is a source that has only some of the objects.
type part struct {
	sources.Source
	has func(key sources.Key) bool
}

func (p part) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for o, err := range p.Source.Objects(ctx, after) {
			if (err != nil || p.has(o.Key)) && !yield(o, err) {
				return
			}
		}
	}
}

// partly returns dependencies whose source has only the objects that has reports.
func (w *world) partly(has func(key sources.Key) bool) migrate.Deps {
	d := w.deps()
	d.Source = part{w.source, has}
	return d
}

// stopped plans a sync and verifies that safety checks stop it.
func (w *world) stopped(d migrate.Deps, r migrate.Rules, g safety.SafetyChecks) {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "sync", marshal(w, r))
	must(w, err)
	planner := plan.New(d, r)
	planner.SafetyChecks = g
	plan, err := planner.Plan(w.Context(), run)
	if _, guarded := errors.AsType[*migrate.SafetyCheckError](err); !guarded && (err != nil || len(plan.FailedChecks) == 0) {
		w.Fatalf("no safety check stopped it: %v", err)
	}
	must(w, w.store.Supersede(w.Context(), run.Num))
}

// TestSidecarsThatARunMisses verifies that the state database keeps sidecars that a run does not
// see, because the run was stopped or its source is incomplete: the next run has nothing to do.
func TestSidecarsThatARunMisses(t *testing.T) {
	t.Parallel()
	half := func(key sources.Key) bool { return key < "002" }
	for what, day := range map[string]func(w *world){
		"stopped by the sentinel": func(w *world) {
			g := wide()
			g.Sentinel = "sentinel.txt"
			w.stopped(w.partly(half), syncing(), g)
		},
		"stopped as too much would change": func(w *world) {
			g := wide()
			g.MaxChanges = 0
			w.put("new.txt.json", saying("of another"))
			w.stopped(w.partly(func(key sources.Key) bool { return half(key) || key >= "new.txt" }), syncing(), g)
			w.put("new.txt.json", saying("of new.txt"))
		},
		"never carried out": func(w *world) {
			d, r := w.partly(half), syncing()
			run, err := w.store.Begin(w.Context(), w.pair, "plan", marshal(w, r))
			must(w, err)
			_, err = plan.New(d, r).Plan(w.Context(), run)
			must(w, err)
		},
		"half of the source": func(w *world) {
			w.syncWith(w.partly(half), syncing())
		},
		"half of the source, twice": func(w *world) {
			w.syncWith(w.partly(half), syncing())
			w.syncWith(w.partly(half), syncing())
		},
		"only the objects": func(w *world) {
			r := syncing()
			r.Exclude = []string{"*.json"}
			w.syncWith(w.deps(), r)
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.put("sentinel.txt", "whole", "new.txt", "new", "new.txt.json", saying("of new.txt"))
			w.putWithSidecars(5)
			w.syncs(syncing())
			day(w)
			plan := w.syncs(syncing())
			for _, key := range []string{"000.txt", "001.txt", "002.txt", "003.txt", "004.txt"} {
				if i, err := w.store.Item(t.Context(), plan.Run.Num, sources.Key(key)); !errors.Is(err, state.ErrNotFound) {
					t.Errorf("the night after has an item %+v (%v)", i, err)
				}
			}
			w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 13})
		})
	}
}

// TestDescribedWithoutAMissedSidecar verifies that an asset whose metadata was updated while a
// sidecar was missing is updated again once the sidecar reappears.
func TestDescribedWithoutAMissedSidecar(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "a", "a.txt.json", saying("of a"))
	w.syncs(syncing())
	d := w.partly(func(key sources.Key) bool { return key == "a.txt" })
	w.syncWith(d, syncing())
	w.put("a.txt", "changed")
	w.syncWith(d, syncing())
	w.wantStates(w.syncs(syncing()), map[string]int64{"update_metadata done": 1, "skip skipped": 1})
	w.wantDescriptions(map[string]string{"a.txt": "of a"})
	w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 2})
}

// TestAStoppedRunUsesUpNoSidecars verifies that the next run makes the metadata update of a stopped
// run, even if the object's content, which had changed too, has reverted.
func TestAStoppedRunUsesUpNoSidecars(t *testing.T) {
	w := newWorld(t)
	w.putWithSidecars(2)
	w.syncs(syncing())
	w.put("000.txt", "changed", "000.txt.json", saying("otherwise"))
	safetyChecks := wide()
	safetyChecks.MaxChanges = 0
	w.stopped(w.deps(), syncing(), safetyChecks)
	w.put("000.txt", "0")
	w.syncs(syncing()) // finds that the new time is the only change
	w.syncs(syncing())
	w.wantDescriptions(map[string]string{"000.txt": "otherwise", "001.txt": "of 001.txt"})
}

// TestASidecarOfTwoObjects verifies that a changed sidecar of two objects still counts as changed
// after a run that excludes one of them.
func TestASidecarOfTwoObjects(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.png", "b", "a.xmp", xmp("before"))
	w.syncs(syncing())
	w.put("a.xmp", xmp("after"))
	r := syncing()
	r.Exclude = []string{"*.png"}
	w.syncWith(w.deps(), r)
	w.syncs(syncing())
	for _, key := range []string{"a.jpg", "a.png"} {
		if caption := w.assetOf(key).Metadata.CustomAttributes["caption"]; caption != "after" {
			t.Errorf("%s has the caption %v", key, caption)
		}
	}
	w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 3})
}

// TestSidecarsCountAfterAPlan verifies that sidecars of created objects count as sidecars, whatever
// was planned before.
func TestSidecarsCountAfterAPlan(t *testing.T) {
	w := newWorld(t)
	w.putWithSidecars(3)
	w.plan(migrate.DefaultRules())
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 3, "skip skipped": 3})
	w.wantDescriptions(map[string]string{"000.txt": "of 000.txt", "001.txt": "of 001.txt", "002.txt": "of 002.txt"})
	asked := w.during(func() {
		w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 6})
	})
	if len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

// TestAPlanStoresSidecarsAsItems verifies that a plan without existing assets stores its sidecars
// only as items, and that they are stored as sidecars once it is carried out.
func TestAPlanStoresSidecarsAsItems(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.JSON", saying("of a"))
	stored := func() (all []state.Sidecar) {
		for c, err := range w.store.Sidecars(t.Context(), w.pair.ID, "") {
			must(t, err)
			all = append(all, c)
		}
		return all
	}
	if w.plan(migrate.DefaultRules()); len(stored()) > 0 {
		t.Errorf("a plan stored %v", stored())
	}
	w.migrate(migrate.DefaultRules())
	if all := stored(); len(all) != 1 || all[0].Folded != "a.jpg.json" || all[0].Pending {
		t.Errorf("a run stored %+v", all)
	}
	w.wantDescriptions(map[string]string{"a.jpg": "of a"})
}

// TestSidecarsOfAnApprovedPlan verifies that a first plan that was approved leaves no sidecar to the
// next run.
func TestSidecarsOfAnApprovedPlan(t *testing.T) {
	w := newWorld(t)
	w.putWithSidecars(3)
	w.apply(w.approve(migrate.DefaultRules()), migrate.DefaultRules())
	w.wantDescriptions(map[string]string{"000.txt": "of 000.txt", "001.txt": "of 001.txt", "002.txt": "of 002.txt"})
	w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 6})
}

// TestSidecarsOfARunThatWasGivenUp verifies that assets that a given-up run uploaded are not
// updated again from the same sidecars.
func TestSidecarsOfARunThatWasGivenUp(t *testing.T) {
	w := newWorld(t)
	w.putWithSidecars(20) // enough that the run stops before it is complete
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop) })
	w.gate.on(atUpload(2, func() error { end(); return nil }))
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency, a.Stop = 1, stop })
	if w.gate.on(nil); !errors.Is(err, migrate.ErrStopped) {
		t.Fatalf("got %v", err)
	}
	w.giveUp(plan)
	if n := w.reasons(w.syncs(syncing()))[string(migrate.ReasonMetadataChanged)]; n > 0 {
		t.Errorf("%d assets were described again", n)
	}
	for key, description := range w.descriptions() {
		if description != "of "+key {
			t.Errorf("%s is described as %q", key, description)
		}
	}
}

// giveUp gives up the run of a plan, unless it is finished.
func (w *world) giveUp(plan migrate.Plan) {
	w.Helper()
	run, err := w.store.Run(w.Context(), plan.Run.ID)
	must(w, err)
	if !run.Open() {
		return
	}
	if run.State == state.Applying {
		must(w, w.applier(w.deps()).ConfirmUploads(w.Context(), run))
	}
	must(w, w.store.Supersede(w.Context(), run.Num))
}

// A locked source fails to read one object.
type locked struct {
	sources.Source
	key sources.Key
}

func (l *locked) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.Key == l.key {
		return nil, &sources.Error{Op: "open", Key: o.Key, Err: fs.ErrPermission}
	}
	return l.Source.Open(ctx, o, offset)
}

// TestSidecarsThatMayNotBeRead verifies that each run reports an unreadable sidecar and writes
// nothing because of it, and that the metadata is updated once it is readable.
func TestSidecarsThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, described := range []bool{false, true} {
		w := newWorld(t)
		w.put("a.txt", "a", "b.txt", "b", "b.txt.json", saying("of b"))
		if described {
			w.put("a.txt.json", saying("before"))
			w.syncs(syncing())
		}
		w.put("a.txt.json", saying("of a"))
		d := w.deps()
		d.Source = &locked{w.source, "a.txt.json"}
		plan := w.syncWith(d, syncing())
		if i := w.item(plan, "a.txt"); i.State != state.ItemDone || i.Error == "" {
			t.Errorf("the first night: %+v", i)
		}
		for range 2 {
			asked := w.during(func() { plan = w.syncWith(d, syncing()) })
			w.wantStates(plan, map[string]int64{"unchanged skipped": 3, "skip failed": 1})
			if i := w.item(plan, "a.txt.json"); i.Reason != string(migrate.ReasonUnreadable) || i.Error == "" {
				t.Errorf("got %+v", i)
			}
			if len(asked) > 0 {
				t.Errorf("it asked %v", asked)
			}
		}
		w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 2, "update_metadata done": 1, "skip skipped": 1})
		w.wantDescriptions(map[string]string{"a.txt": "of a", "b.txt": "of b"})
		w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 4})
		w.close()
	}
}

// TestOneFailureDescribesNothingElseAgain verifies that a run in which one metadata update failed
// does not make the next run repeat the successful ones.
func TestOneFailureDescribesNothingElseAgain(t *testing.T) {
	w := newWorld(t)
	w.putWithSidecars(3)
	w.syncs(syncing())
	for _, key := range []string{"000.txt", "001.txt", "002.txt"} {
		w.put(key+".json", saying("otherwise"))
	}
	w.refusing("001.txt", func() {
		w.wantStates(w.syncs(syncing()), map[string]int64{"update_metadata done": 2, "update_metadata failed": 1, "skip skipped": 3})
	})
	w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 4, "update_metadata done": 1, "skip skipped": 1})
	w.wantDescriptions(map[string]string{"000.txt": "otherwise", "001.txt": "otherwise", "002.txt": "otherwise"})
}

// TestSidecarsWhereverARunDies verifies that, wherever a run is killed, and whether it is resumed
// or given up, the metadata of its sidecars is written in the end, and the next run has nothing to
// do.
func TestSidecarsWhereverARunDies(t *testing.T) {
	diesEverywhere(t, diesAt)
}

// TestSidecarsWhereverTheFirstRunDies verifies the same of the first run, which stores its sidecars
// only before it uploads something.
func TestSidecarsWhereverTheFirstRunDies(t *testing.T) {
	for what, last := range map[string]string{"listed after its object": "zzz.txt.JSON", "listed before its object": "zzz.XMP"} {
		t.Run(what, func(t *testing.T) {
			diesEverywhere(t, func(t *testing.T, kind inject.StateFault, call int, givesUp bool) bool {
				t.Helper()
				return firstDiesAt(t, kind, call, givesUp, last)
			})
		})
	}
}

// diesEverywhere kills a run at many calls to the state database, until there are no more.
func diesEverywhere(t *testing.T, diesAt func(t *testing.T, kind inject.StateFault, call int, givesUp bool) (died bool)) {
	t.Helper()
	random, step := seedtest.Rand(t), 19*slowdown
	if sweepsAll() {
		step = 1
	}
	for _, kind := range inject.StateFaults() {
		for _, givesUp := range []bool{false, true} {
			first := random.IntN(step)
			t.Run(fmt.Sprintf("%s, gives up %v", kind.Name, givesUp), func(t *testing.T) {
				t.Parallel()
				n := first
				for diesAt(t, kind, n, givesUp) {
					n += step
				}
				t.Logf("died at calls %d to %d", first, n-1)
			})
		}
	}
}

// firstDiesAt kills the first run at a call to the state database, and reports whether there was
// such a call. The last object has a sidecar with a given key.
func firstDiesAt(t *testing.T, kind inject.StateFault, call int, givesUp bool, last string) (died bool) {
	t.Helper()
	w := newWorld(t)
	defer w.close()
	w.putWithSidecars(2)
	want := map[string]string{"000.txt": "of 000.txt", "001.txt": "of 001.txt", "zzz.txt": ""}
	content := xmp("a caption")
	if strings.HasSuffix(last, ".JSON") {
		want["zzz.txt"] = "of zzz.txt"
		content = saying("of zzz.txt")
	}
	w.put("zzz.txt", "zzz", last, content)
	died, _ = w.syncThatDies(kind, call, givesUp)
	w.syncs(syncing())
	w.syncs(syncing())
	if w.wantDescriptions(want); t.Failed() {
		t.Fatalf("after a first run that died at call %d", call)
	}
	if w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 6}); t.Failed() {
		t.Fatalf("the run after one that died at call %d, and two others, had work to do", call)
	}
	return died
}

// syncThatDies runs a sync that fails at a call to the state database, and may give it up. It reports
// whether there was such a call, and whether the run was unfinished.
func (w *world) syncThatDies(kind inject.StateFault, call int, givesUp bool) (died, unfinished bool) {
	w.Helper()
	at := inject.At(call)
	w.hook(kind.Hook(at))
	_, err := w.try(w.Context(), syncing())
	w.unhook()
	if !at.Came() {
		must(w, err)
	}
	run, err := w.store.Unfinished(w.Context(), w.pair)
	if err == nil && givesUp {
		w.giveUp(migrate.Plan{Run: run})
	}
	return at.Came(), err == nil
}

// diesAt kills a run at a call to the state database, and reports whether there was such a call.
func diesAt(t *testing.T, kind inject.StateFault, call int, givesUp bool) (died bool) {
	t.Helper()
	w := newWorld(t)
	defer w.close()
	w.putWithSidecars(3)
	w.syncs(syncing())
	w.put("000.txt.json", saying("otherwise"), "001.txt", "changed", "001.txt.json", saying("changed"), "new.txt", "new", "new.txt.json", saying("new"))
	want := map[string]string{"000.txt": "otherwise", "001.txt": "changed", "002.txt": "of 002.txt", "new.txt": "new"}
	if !givesUp { // after giving up, the run cannot know who moved an asset
		w.source.Delete("002.txt")
		w.source.Delete("002.txt.json")
		w.put("moved.txt", "2", "moved.txt.json", saying("moved"))
		delete(want, "002.txt")
		want["moved.txt"] = "moved"
	}
	died, unfinished := w.syncThatDies(kind, call, givesUp)
	if unfinished && !givesUp {
		w.syncs(syncing())
	}
	w.syncs(syncing())
	if w.wantDescriptions(want); t.Failed() {
		t.Fatalf("after a night that died at call %d", call)
	}
	if w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 8}); t.Failed() {
		t.Fatalf("the night after one that died at call %d, and two others, was not quiet", call)
	}
	return died
}
