package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/state"
)

// pressAndShop are two waves, and no wave for all other folders.
func pressAndShop() migrate.Waves {
	return migrate.Waves{{Name: "press", Folders: []string{"press"}}, {Name: "shop", Folders: []string{"shop"}}}
}

// tryWave plans and applies a run of a wave, as the command does.
func (w *world) tryWave(ctx context.Context, all migrate.Waves, name string, r migrate.Rules, changes ...func(*plan.Planner)) (migrate.Plan, error) {
	w.Helper()
	command := "migrate"
	if r.Sync != nil {
		command = migrate.SyncCommand
	}
	r.Wave = all.Named(name)
	pair := w.pair
	pair.Wave = name
	d := w.deps()
	applier := w.applier(d)
	rules, err := json.Marshal(r)
	must(w, err)
	s := migrate.RunSituation{Command: command, Rules: r, Now: time.Now()}
	if s.Unfinished, err = w.store.Unfinished(w.Context(), pair); !errors.Is(err, state.ErrNotFound) {
		must(w, err)
	}
	decided, err := migrate.DecideRun(s)
	must(w, err)
	run := s.Unfinished
	switch decided.Step {
	case migrate.StepBegin:
		run, err = w.store.Begin(w.Context(), pair, command, rules)
	case migrate.StepSupersede, migrate.StepRelist:
		if run.State == state.Applying {
			err = applier.ConfirmUploads(ctx, run)
		}
		if err == nil && decided.Step == migrate.StepRelist {
			err = w.store.Relist(w.Context(), run.Num)
		} else if err == nil {
			if err = w.store.Supersede(w.Context(), run.Num); err == nil {
				run, err = w.store.Begin(w.Context(), pair, command, rules)
			}
		}
		if err == nil {
			run, err = w.store.Run(w.Context(), run.ID)
		}
	case migrate.StepResume, migrate.StepReplan:
	default:
		w.Fatalf("wave %s: %+v", name, decided)
	}
	if err != nil {
		return migrate.Plan{}, err
	}
	planner := plan.New(d, r)
	planner.SafetyChecks, planner.DriftShare, planner.ResponseTimeout, planner.Waves = wide(), 0, short, all
	planner.SafetyChecks.AcceptRules = true
	for _, change := range changes {
		change(planner)
	}
	plan, err := planner.Plan(ctx, run)
	if err != nil {
		return plan, err
	}
	if len(plan.FailedChecks) > 0 {
		return plan, plan.FailedChecks[0]
	}
	return plan, applier.Apply(ctx, plan.Run)
}

// wave is tryWave of a run that must finish.
func (w *world) wave(all migrate.Waves, name string, r migrate.Rules, changes ...func(*plan.Planner)) migrate.Plan {
	w.Helper()
	plan, err := w.tryWave(w.Context(), all, name, r, changes...)
	must(w, err)
	run, err := w.store.Run(w.Context(), plan.Run.ID)
	must(w, err)
	if run.State != state.Finished {
		w.Fatalf("the run of wave %s is %s, want finished", name, run.State)
	}
	return plan
}

// keys returns the keys with a receipt, and their assets.
func (w *world) receiptAssets() map[string]string {
	w.Helper()
	all := map[string]string{}
	for r, err := range w.store.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		all[string(r.Key)] = r.Asset
	}
	return all
}

func (w *world) wantKeys(keys ...string) {
	w.Helper()
	if diff := gocmp.Diff(keys, slices.Sorted(maps.Keys(w.receiptAssets()))); diff != "" {
		w.Errorf("objects with assets (-want +got):\n%s", diff)
	}
	if got := len(w.assetsAt()); got != len(keys) {
		w.Errorf("%d assets at the destination, want %d", got, len(keys))
	}
}

// TestWavesAreIndependent verifies that a run of a wave uploads only its objects, and that deletions
// and limits of one wave say nothing about another.
func TestWavesAreIndependent(t *testing.T) {
	w := newWorld(t)
	all := pressAndShop()
	w.put("press/a.jpg", "a", "press/b.jpg", "bb", "shop/c.jpg", "ccc", "shop/d.jpg", "dddd", "top.jpg", "ttttt")
	first := w.wave(all, "press", migrate.DefaultRules())
	w.wantStates(first, map[string]int64{"create done": 2})
	if got := first.Waves.Unassigned; got.Objects != 1 || !slices.Equal(got.First, []sources.Key{"top.jpg"}) {
		t.Errorf("in no wave: %+v", got)
	}
	w.wantKeys("press/a.jpg", "press/b.jpg")
	w.wave(all, "shop", trashing())
	w.wantKeys("press/a.jpg", "press/b.jpg", "shop/c.jpg", "shop/d.jpg")
	w.source.Delete("press/a.jpg")
	w.source.Delete("shop/c.jpg")
	for range 3 {
		quiet := w.wave(all, "shop", trashing())
		if quiet.Deleted > 1 {
			t.Errorf("%d objects were deleted, want at most 1", quiet.Deleted)
		}
		w.passDays(1)
	}
	w.wantKeys("press/a.jpg", "press/b.jpg", "shop/d.jpg")
	orphans, err := w.store.Known(t.Context(), w.pair.ID)
	must(t, err)
	if orphans.Orphans != 0 {
		t.Errorf("%d objects of another wave count as missing", orphans.Orphans)
	}
	w.wave(all, "press", trashing())
	w.wave(all, "shop", trashing()) // keeps what the other wave missed
	w.passDays(1)
	w.wave(all, "press", trashing())
	w.wantKeys("press/b.jpg", "shop/d.jpg")
}

// TestMovesBetweenWaves verifies that an object that is moved to the folder of another wave keeps its
// asset, whichever wave is synced first and however often.
func TestMovesBetweenWaves(t *testing.T) {
	for _, first := range []string{"press", "shop"} {
		t.Run(first+" first", func(t *testing.T) {
			w := newWorld(t)
			all := pressAndShop()
			w.put("press/a.jpg", "moves", "press/b.jpg", "b", "shop/c.jpg", "c")
			w.wave(all, "press", trashing())
			w.wave(all, "shop", trashing())
			was := w.receiptAssets()
			w.source.Delete("press/a.jpg")
			w.put("shop/a.jpg", "moves")
			if first == "press" {
				for range 4 {
					w.wave(all, "press", trashing())
					w.passDays(1)
				}
				w.wantKeys("press/a.jpg", "press/b.jpg", "shop/c.jpg")
			}
			plan := w.wave(all, "shop", trashing())
			w.wantStates(plan, map[string]int64{"move done": 1, "unchanged skipped": 1})
			w.wantKeys("press/b.jpg", "shop/a.jpg", "shop/c.jpg")
			if is := w.receiptAssets()["shop/a.jpg"]; is != was["press/a.jpg"] {
				t.Errorf("the asset is %s, want %s", is, was["press/a.jpg"])
			}
			w.wantStates(w.wave(all, "press", trashing()), map[string]int64{"unchanged skipped": 1})
			w.wantStates(w.wave(all, "shop", trashing()), map[string]int64{"unchanged skipped": 2})
			w.verifies()
		})
	}
}

// TestFolderChangesWave verifies that a folder that goes to another wave is neither uploaded again nor
// deleted.
func TestFolderChangesWave(t *testing.T) {
	w := newWorld(t)
	all := pressAndShop()
	all[0].Folders = []string{"press", "events"}
	w.put("press/a.jpg", "a", "events/b.jpg", "b", "shop/c.jpg", "c")
	w.wave(all, "press", trashing())
	w.wave(all, "shop", trashing())
	was := w.receiptAssets()
	all = pressAndShop()
	all[1].Folders = []string{"shop", "events"}
	strict := func(p *plan.Planner) { p.SafetyChecks.AcceptRules = false }
	for name, objects := range map[string]int64{"press": 1, "shop": 2} {
		_, err := w.tryWave(t.Context(), all, name, trashing(), strict)
		if e, ok := errors.AsType[*migrate.SafetyCheckError](err); !ok || !strings.Contains(e.What, "--wave was ") {
			t.Errorf("wave %s with other folders: %v", name, err)
		}
		for range 3 {
			w.wantStates(w.wave(all, name, trashing()), map[string]int64{"unchanged skipped": objects})
			w.passDays(1)
		}
	}
	if diff := gocmp.Diff(was, w.receiptAssets()); diff != "" {
		t.Errorf("assets (-before +after):\n%s", diff)
	}
	if got := len(w.assetsAt()); got != 3 {
		t.Errorf("%d assets, want 3", got)
	}
}

// TestWavesOverlap verifies that nothing is uploaded if an object is in two waves, also if the
// listing is resumed.
func TestWavesOverlap(t *testing.T) {
	w := newWorld(t)
	all := migrate.Waves{{Name: "press", Folders: []string{"press"}}, {Name: "images", Include: []string{"*.jpg"}}}
	w.put("press/a.txt", "a", "press/b.jpg", "b", "press/c.jpg", "c")
	for _, name := range []string{"press", "images", "press"} {
		_, err := w.tryWave(t.Context(), all, name, migrate.DefaultRules())
		e, ok := errors.AsType[*migrate.WaveOverlapError](err)
		if !ok || e.Objects != 2 || e.Key != "press/b.jpg" || !slices.Equal(e.Waves, []string{"press", "images"}) {
			t.Fatalf("wave %s: %v", name, err)
		}
	}
	if got := w.assetsAt(); len(got) > 0 {
		t.Errorf("uploaded %v", got)
	}
	all[1].Exclude = []string{"/press/**"}
	w.wantStates(w.wave(all, "press", migrate.DefaultRules()), map[string]int64{"create done": 3})
}

// TestWaveVanishes verifies that a wave without any object is a source that is not there, although
// other waves have objects.
func TestWaveVanishes(t *testing.T) {
	w := newWorld(t)
	all := pressAndShop()
	w.put("press/a.jpg", "a", "shop/c.jpg", "c")
	w.wave(all, "press", trashing())
	w.wave(all, "shop", trashing())
	w.source.Delete("press/a.jpg")
	_, err := w.tryWave(t.Context(), all, "press", trashing())
	if e, ok := errors.AsType[*migrate.EmptySourceError](err); !ok || e.Known != 1 || e.Wave != "press" {
		t.Errorf("an empty wave: %v", err)
	}
}

// TestFrozenWave verifies that objects that changed after the freeze are counted, and uploaded
// nevertheless.
func TestFrozenWave(t *testing.T) {
	w := newWorld(t)
	all := pressAndShop()
	w.put("press/a.jpg", "a", "shop/c.jpg", "c")
	all[0].Freeze = w.object("press/a.jpg").Time
	w.put("press/b.jpg", "b", "shop/d.jpg", "d")
	first := w.wave(all, "press", trashing())
	if got := first.Waves.Frozen; got.Objects != 1 || !slices.Equal(got.First, []sources.Key{"press/b.jpg"}) {
		t.Errorf("changed after the freeze: %+v", got)
	}
	w.wantKeys("press/a.jpg", "press/b.jpg")
	all[0].Freeze = time.Time{}
	w.wave(all, "press", trashing(), func(p *plan.Planner) { p.SafetyChecks.AcceptRules = false }) // a freeze is no rule
}

// TestVerifyWave verifies that the verification of a wave compares its assets only, also in a folder
// that has those of two waves, and requests no folder of another wave.
func TestVerifyWave(t *testing.T) {
	w := newWorld(t)
	all := migrate.Waves{{Name: "press", Include: []string{"press/*.jpg", "both/p*"}}, {Name: "shop", Include: []string{"shop/*.jpg", "both/s*"}}}
	w.put("press/a.jpg", "a", "press/b.jpg", "b", "both/p.jpg", "p", "both/s.jpg", "s", "both/s2.jpg", "s2", "shop/c.jpg", "c")
	w.wave(all, "press", trashing())
	w.wave(all, "shop", trashing())
	for _, key := range []string{"both/s.jpg", "press/b.jpg"} {
		must(t, w.other.Trash(t.Context(), w.receiptAssets()[key]))
	}
	folder := func(key string) string {
		r, err := w.store.Receipt(t.Context(), w.pair.ID, sources.Key(key))
		must(t, err)
		return r.Folder
	}
	for _, level := range []string{verify.LevelListing, verify.LevelChecksum} {
		w.watch.differences = nil
		v := verify.New(w.deps(), level, 0)
		v.Wave = all[0]
		elsewhere := folder("shop/c.jpg")
		w.gate.on(func(_ int, r *http.Request) error {
			if strings.Contains(r.URL.String(), elsewhere) {
				t.Errorf("%s of wave press: %s", level, r.URL)
			}
			return nil
		})
		got, err := v.Verify(t.Context(), w.pair)
		w.gate.on(nil)
		must(t, err)
		if found := w.watch.found(false); got.Receipts != 3 || got.Differences != 1 || len(found) != 1 || !strings.HasPrefix(found[0], "press/b.jpg") {
			t.Errorf("%s of wave press: %+v, %q", level, got, found)
		}
	}
	verified := map[sources.Key]bool{}
	for is, err := range w.store.Standings(t.Context(), w.pair.ID) {
		must(t, err)
		verified[is.Key] = is.Verified && is.Content
	}
	want := map[sources.Key]bool{"press/a.jpg": true, "press/b.jpg": false, "both/p.jpg": true, "both/s.jpg": false, "both/s2.jpg": false, "shop/c.jpg": false}
	if diff := gocmp.Diff(want, verified); diff != "" {
		t.Errorf("verified (-want +got):\n%s", diff)
	}
}

// TestUnconfirmedInAnotherWave verifies that an object whose upload by another wave is unconfirmed is
// not uploaded again after it changed its wave.
func TestUnconfirmedInAnotherWave(t *testing.T) {
	w := newWorld(t)
	all := pressAndShop()
	all[0].Folders = []string{"press", "events"}
	w.put("events/b.jpg", "b", "shop/c.jpg", "c")
	r := migrate.DefaultRules()
	r.Wave, w.pair.Wave = all[0], "press"
	w.die(r)
	w.pair.Wave = ""
	all = pressAndShop()
	all[1].Folders = []string{"shop", "events"}
	_, err := w.tryWave(t.Context(), all, "shop", migrate.DefaultRules())
	if e, ok := errors.AsType[*plan.UnfinishedWaveError](err); !ok || e.Key != "events/b.jpg" || e.Run.Pair.Wave != "press" {
		t.Errorf("an unconfirmed object of another wave: %v", err)
	}
}

// TestLawOfWaves interleaves syncs of three waves with changes, moves within and between waves,
// deletions, folders that change their wave, and interruptions. No run touches an asset of another
// wave, except to follow a move to its own; in the end the destination equals the source, and each
// object has kept its asset.
func TestLawOfWaves(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		defer w.close()
		l := &waveLibrary{world: w, t: rt, contents: map[string]string{}, assets: map[string]string{}, left: map[string]bool{}}
		l.waves(0)
		for _, folder := range []string{"press", "shop", "other"} { // a wave without objects looks like a source that is not there
			l.made++
			l.set(folder+"/stays.jpg", fmt.Sprintf("%0*d", 4+l.made, l.made))
		}
		for range rapid.IntRange(4, 24).Draw(rt, "steps") {
			l.step()
		}
		for range 4 {
			for _, wave := range l.all {
				l.run(wave.Name, 0)
			}
			w.passDays(1)
		}
		l.wantAll()
	})
}

// A waveLibrary is the model of TestLawOfWaves.
type waveLibrary struct {
	*world
	t        *rapid.T
	all      migrate.Waves
	contents map[string]string // by key, at the source; each is unique
	assets   map[string]string // by content, since its first upload
	left     map[string]bool   // keys that objects were moved from: a new object there would get the asset
	made     int
}

// waves sets the definition of the waves: one of three folders belongs to either of two.
func (l *waveLibrary) waves(n int) {
	l.all = migrate.Waves{
		{Name: "press", Folders: []string{"press"}}, {Name: "shop", Folders: []string{"shop"}}, {Name: "rest", Exclude: []string{"/press", "/shop", "/both"}},
	}
	l.all[n].Folders = append(l.all[n].Folders, "both")
}

func (l *waveLibrary) step() {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(l.contents)), func(key string) bool { return strings.HasSuffix(key, "/stays.jpg") })
	key := func(name string) string {
		return rapid.SampledFrom([]string{"press", "shop", "both", "other"}).Draw(l.t, name) + "/" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(l.t, name) + ".jpg"
	}
	switch what := rapid.SampledFrom([]string{"put", "put", "put", "move", "move", "delete", "day", "waves", "run", "run", "run", "run"}).Draw(l.t, "what"); {
	case what == "put":
		at := key("key")
		if l.left[at] {
			return
		}
		l.made++
		l.set(at, fmt.Sprintf("%0*d", 4+l.made, l.made)) // of a size of its own
	case what == "move" && len(keys) > 0:
		from, to := rapid.SampledFrom(keys).Draw(l.t, "from"), key("to")
		if _, taken := l.contents[to]; taken || l.left[to] {
			return
		}
		content := l.contents[from]
		l.left[from] = true
		l.remove(from)
		l.set(to, content)
	case what == "delete" && len(keys) > 0:
		l.remove(rapid.SampledFrom(keys).Draw(l.t, "deleted"))
	case what == "day":
		l.passDays(1)
	case what == "waves":
		l.waves(rapid.IntRange(0, 1).Draw(l.t, "both"))
	case what == "run":
		l.run(rapid.SampledFrom(l.all.Names()).Draw(l.t, "wave"), rapid.SampledFrom([]int{0, 0, 5, 8, 12, 20}).Draw(l.t, "interrupted at"))
	}
}

func (l *waveLibrary) set(key, content string) {
	l.contents[key] = content
	l.put(key, content)
}

func (l *waveLibrary) remove(key string) {
	delete(l.contents, key)
	l.source.Delete(sources.Key(key))
}

// run syncs a wave, and interrupts it at a request unless that is 0.
func (l *waveLibrary) run(name string, at int) {
	ctx, cancel := context.WithCancelCause(l.Context())
	defer cancel(nil)
	l.gate.on(func(n int, _ *http.Request) error {
		if at > 0 && n >= at {
			cancel(errPulled)
		}
		return nil
	})
	wave, before := l.all.Named(name), l.receiptAssets()
	done, err := l.tryWave(ctx, l.all, name, trashing())
	l.gate.on(nil)
	_, waits := errors.AsType[*plan.UnfinishedWaveError](err)
	if err != nil && !waits && at == 0 {
		l.t.Fatalf("wave %s: %v", name, err)
	}
	l.untouched(wave, before)
	if err != nil {
		return
	}
	run, err := l.store.Run(l.Context(), done.Run.ID)
	must(l.world, err)
	if run.State != state.Finished {
		l.t.Fatalf("wave %s: the run is %s", name, run.State)
	}
	after := l.receiptAssets()
	for key, content := range l.contents {
		if !wave.HasKey(sources.Key(key)) {
			continue
		}
		asset, there := after[key]
		if !there {
			l.t.Fatalf("wave %s has no asset for %s", name, key)
		}
		if was, known := l.assets[content]; known && was != asset {
			l.t.Fatalf("%s (%s) has asset %s, had %s", key, content, asset, was)
		}
		l.assets[content] = asset
	}
}

// untouched verifies that the assets of other waves are where they were, or were moved to this wave.
func (l *waveLibrary) untouched(wave *migrate.Wave, before map[string]string) {
	after := l.receiptAssets()
	owner := map[string]string{}
	for key, asset := range after {
		owner[asset] = key
	}
	for key, asset := range before {
		if wave.HasKey(sources.Key(key)) || after[key] == asset {
			continue
		}
		if now := owner[asset]; now == "" || !wave.HasKey(sources.Key(now)) {
			l.t.Fatalf("a run of wave %s changed %s: its asset belongs to %q now", wave.Name, key, now)
		}
	}
}

// wantAll verifies that each object has one asset with its content, and nothing else has one.
func (l *waveLibrary) wantAll() {
	var want []placed
	for key, content := range l.contents {
		folder, name, _ := strings.Cut(key, "/")
		want = append(want, placed{"Images", folder, name, checksum(content)})
	}
	got := l.assetsAt()
	order := func(a, b placed) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if diff := gocmp.Diff(want, got); diff != "" {
		l.t.Fatalf("assets (-want +got):\n%s", diff)
	}
}
