package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// small puts a nested library for the categories of a new world, and returns its assets.
func (w *world) small() []placed {
	w.put("a.jpg", "a", "dir/b.png", "b", "dir/deep/er/c.txt", "c", "dir/d e+%&#?.jpg", "d", "empty.bin", "", "ä/ö.txt", "umlaut")
	return []placed{
		{"Images", "", "a.jpg", checksum("a")},
		{"Images", "dir", "b.png", checksum("b")},
		{"Images", "dir", "d e+%&#?.jpg", checksum("d")},
		{"Texts", "", "empty.bin", checksum("")},
		{"Texts", "dir/deep/er", "c.txt", checksum("c")},
		{"Texts", "ä", "ö.txt", checksum("umlaut")},
	}
}

func (w *world) wantAssets(want []placed) {
	w.Helper()
	if diff := gocmp.Diff(want, w.assetsAt()); diff != "" {
		w.Errorf("at the destination (-want +got):\n%s", diff)
	}
}

func (w *world) wantStates(p migrate.Plan, want map[string]int64) {
	w.Helper()
	got, _ := w.states(p)
	if diff := gocmp.Diff(want, got); diff != "" {
		w.Errorf("items (-want +got):\n%s", diff)
	}
}

func TestLibraryArrives(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	plan := w.migrate(migrate.DefaultRules())
	w.wantAssets(want)
	w.wantStates(plan, map[string]int64{"create done": 6})
	for key, o := range w.watch.items {
		r, err := w.store.Receipt(t.Context(), w.pair.ID, sources.Key(key))
		if err != nil || r.Asset != o.Receipt.Asset || r.Adopted {
			t.Errorf("%s: got receipt %+v (%v)", key, r, err)
		}
	}
	for path, n := range w.folders() {
		if n != 1 {
			t.Errorf("%s is there %d times", path, n)
		}
	}
}

func TestSecondRunOnlyReads(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	w.migrate(migrate.DefaultRules())
	var plan migrate.Plan
	asked := w.during(func() { plan = w.migrate(migrate.DefaultRules()) })
	if sent := writes(asked); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	w.wantStates(plan, map[string]int64{"unchanged skipped": 6})
	w.wantAssets(want)
}

func TestNewObjectsCostNoListing(t *testing.T) {
	w := newWorld(t)
	w.put("dir/a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	w.put("dir/b.jpg", "b")
	asked := w.during(func() { w.migrate(migrate.DefaultRules()) })
	if n := asked["GET /assets"]; n > 0 {
		t.Errorf("listed assets %d times in a folder that we made", n)
	}
	if n := asked["POST /folders"]; n > 0 {
		t.Errorf("made %d folders", n)
	}
}

func TestPlanOnlyReadsAndIsWhatHappens(t *testing.T) {
	w := newWorld(t)
	w.small()
	w.put(".DS_Store", "junk", "Dir/x.jpg", "x", "Dir/X.jpg", "X", "dir/b.PNG", "collides")
	var dry migrate.Plan
	asked := w.during(func() { dry = w.plan(migrate.DefaultRules()) })
	if sent := writes(asked); len(sent) > 0 {
		t.Errorf("a plan sent %v", sent)
	}
	real := w.migrate(migrate.DefaultRules())
	if diff := gocmp.Diff(dry.Tallies, real.Tallies); diff != "" {
		t.Errorf("the plan differs from the dry run:\n%s", diff)
	}
	if dry.Run.PlanHash != real.Run.PlanHash {
		t.Error("the plans have different hashes")
	}
	if dry.Renamed != 2 {
		t.Errorf("got %d renamed, want 2", dry.Renamed)
	}
	w.wantStates(real, map[string]int64{"create done": 9, "skip skipped": 1})
	if n := len(w.assetsAt()); n != 9 {
		t.Errorf("got %d assets, want 9", n)
	}
}

func TestManyWorkersMakeAFolderOnce(t *testing.T) {
	w := newWorld(t)
	for n := range 80 {
		w.put(fmt.Sprintf("one/two/three/%02d.jpg", n), "x")
	}
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 64 })
	must(t, err)
	if n := w.requests()["POST /folders"]; n != 3 {
		t.Errorf("sent POST /folders %d times, want 3", n)
	}
	if n := len(w.assetsAt()); n != 80 {
		t.Errorf("got %d assets, want 80", n)
	}
}

func TestExistingStructureIsAdopted(t *testing.T) {
	w := newWorld(t)
	w.put("dir/sub/a.jpg", "a", "é/b.jpg", "b")
	dir := w.folder(w.images, "", "dir")
	sub := w.folder("", dir, "sub")
	w.folder(w.images, "", "e\u0301") // the same name in another Unicode form
	before := w.folders()
	w.migrate(migrate.DefaultRules())
	if diff := gocmp.Diff(before, w.folders()); diff != "" {
		t.Errorf("folders changed:\n%s", diff)
	}
	r, err := w.store.Receipt(t.Context(), w.pair.ID, "dir/sub/a.jpg")
	if err != nil || r.Folder != sub {
		t.Errorf("got folder %q (%v), want %q", r.Folder, err, sub)
	}
}

func TestOldestOfEqualFoldersIsTaken(t *testing.T) {
	now := &clock{}
	w := newWorld(t, func(o *sandbox.Options) { o.Now = func() time.Time { now.passes(time.Second); return now.now() } })
	oldest := w.folder(w.images, "", "dir")
	w.folder(w.images, "", "dir")
	w.put("dir/a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	if r, err := w.store.Receipt(t.Context(), w.pair.ID, "dir/a.jpg"); err != nil || r.Folder != oldest {
		t.Errorf("got folder %q (%v), want the oldest, %q", r.Folder, err, oldest)
	}
}

func TestCategoryByFolder(t *testing.T) {
	w := newWorld(t)
	r := migrate.DefaultRules()
	r.CategoryBy = "folder"
	w.put("Images/sub/a.jpg", "a", "Fonts/b.woff", "b", "Fonts/c.ttf", "c", "top.txt", "d")
	plan := w.migrate(r)
	w.wantAssets([]placed{
		{"Fonts", "", "b.woff", checksum("b")},
		{"Fonts", "", "c.ttf", checksum("c")},
		{"Images", "sub", "a.jpg", checksum("a")},
		{"Texts", "", "top.txt", checksum("d")},
	})
	if diff := gocmp.Diff([]migrate.NewCategory{{Name: "Fonts", Extensions: []string{"woff", "ttf"}}}, plan.Categories); diff != "" {
		t.Errorf("new categories:\n%s", diff)
	}
	w.put("Fonts/d.WOFF", "e")
	if again := w.migrate(r); len(again.Categories) > 0 {
		t.Errorf("wanted %v once more", again.Categories)
	}
}

func TestCategoriesAreNotCreatedForSkippedObjects(t *testing.T) {
	w := newWorld(t)
	r := migrate.DefaultRules()
	r.Unsupported, r.Exclude, r.Limit = "create", []string{"*.psd"}, 1
	w.put("a.jpg", "a", "b.psd", "b", "c.raw", "c", ".git/x.obj", "x")
	plan := w.migrate(r)
	if len(plan.Categories) > 0 {
		t.Errorf("wants %v for objects that are left out", plan.Categories)
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	put := func(t *testing.T) *world {
		w := newWorld(t)
		w.put("a.jpg", "a", "b.Odd", "bb", "c.odd", "c", "noextension", "d")
		return w
	}
	t.Run("stop", func(t *testing.T) {
		w := put(t)
		for range 2 { // the safety check stops each run
			asked := w.during(func() {
				plan, err := w.try(t.Context(), migrate.DefaultRules())
				if !errors.Is(err, errBlocked) {
					t.Fatalf("got %v, want blocked", err)
				}
				want := []migrate.ExtensionTally{{Extension: "odd", Objects: 2, Bytes: 3}, {Extension: "", Objects: 1, Bytes: 1}}
				if diff := gocmp.Diff(want, plan.Unsupported); diff != "" {
					t.Errorf("unmatched:\n%s", diff)
				}
			})
			if sent := writes(asked); len(sent) > 0 {
				t.Errorf("sent %v", sent)
			}
		}
	})
	t.Run("skip", func(t *testing.T) {
		w := put(t)
		r := migrate.DefaultRules()
		r.Unsupported = "skip"
		w.wantStates(w.migrate(r), map[string]int64{"create done": 1, "skip skipped": 3})
	})
	t.Run("create", func(t *testing.T) {
		w := put(t)
		r := migrate.DefaultRules()
		r.Unsupported = "create"
		w.wantStates(w.migrate(r), map[string]int64{"create done": 3, "conflict conflict": 1})
		w.wantAssets([]placed{
			{"Images", "", "a.jpg", checksum("a")},
			{"Other files", "", "b.Odd", checksum("bb")},
			{"Other files", "", "c.odd", checksum("c")},
		})
	})
	t.Run("create beside a named category, twice", func(t *testing.T) {
		w := newWorld(t)
		r := migrate.DefaultRules()
		r.Unsupported, r.CategoryBy = "create", "folder"
		w.put("Images/a.odd", "a")
		w.migrate(r)
		w.put("Images/b.odd", "b")
		w.migrate(r)
		w.wantAssets([]placed{{"Other files", "", "a.odd", checksum("a")}, {"Other files", "", "b.odd", checksum("b")}})
	})
}

func TestCollisions(t *testing.T) {
	// In key order: "X.jpg" < "x.jpg", and the decomposed form before the composed.
	put := func(t *testing.T) *world {
		w := newWorld(t)
		w.put("X.jpg", "1", "x.jpg", "2", "e\u0301.txt", "3", "\u00e9.txt", "4")
		return w
	}
	t.Run("rename", func(t *testing.T) {
		w := put(t)
		w.migrate(migrate.DefaultRules())
		renamed := func(base, key string) string { return base + "~" + checksum(key)[:6] }
		w.wantAssets([]placed{
			{"Images", "", "X.jpg", checksum("1")},
			{"Images", "", renamed("x", "x.jpg") + ".jpg", checksum("2")},
			{"Texts", "", "\u00e9.txt", checksum("3")},
			{"Texts", "", renamed("\u00e9", "\u00e9.txt") + ".txt", checksum("4")},
		})
	})
	t.Run("keep", func(t *testing.T) {
		w := put(t)
		r := migrate.DefaultRules()
		r.OnCollision = "keep"
		w.migrate(r)
		w.wantAssets([]placed{
			{"Images", "", "X.jpg", checksum("1")}, {"Images", "", "x.jpg", checksum("2")},
			{"Texts", "", "\u00e9.txt", checksum("4")}, {"Texts", "", "\u00e9.txt", checksum("3")},
		})
	})
	t.Run("conflict", func(t *testing.T) {
		w := put(t)
		r := migrate.DefaultRules()
		r.OnCollision = "conflict"
		w.wantStates(w.migrate(r), map[string]int64{"create done": 2, "conflict conflict": 2})
	})
	t.Run("with an earlier run", func(t *testing.T) {
		w := newWorld(t)
		r := migrate.DefaultRules()
		r.CategoryBy = "folder" // so that the first run creates the category
		w.put("New/a.jpg", "1")
		w.migrate(r)
		w.put("New/A.jpg", "2")
		w.migrate(r)
		w.wantAssets([]placed{
			{"New", "", "A~" + checksum("New/A.jpg")[:6] + ".jpg", checksum("2")},
			{"New", "", "a.jpg", checksum("1")},
		})
	})
}

func TestSelection(t *testing.T) {
	t.Parallel()
	old, young := time.Now().Add(-time.Hour), time.Now()
	for _, tc := range []struct {
		name string
		set  func(*migrate.Rules)
		want map[string]int64
		keys string
	}{
		{"limit", func(r *migrate.Rules) { r.Limit = 2 }, map[string]int64{"create done": 2, "skip skipped": 3}, "a.jpg dir/b.jpg"},
		{"include", func(r *migrate.Rules) { r.Include = []string{"dir/**"} }, map[string]int64{"create done": 2, "skip skipped": 3}, "dir/b.jpg dir/c.txt"},
		{"exclude beats include", func(r *migrate.Rules) {
			r.Include, r.Exclude = []string{"dir"}, []string{"*.txt"}
		}, map[string]int64{"create done": 1, "skip skipped": 4}, "dir/b.jpg"},
		{"min age", func(r *migrate.Rules) { r.MinAge = time.Minute }, map[string]int64{"create done": 4, "skip skipped": 1}, "a.jpg dir/b.jpg dir/c.txt e.txt"},
		{"files from", func(r *migrate.Rules) {
			r.FilesFrom = migrate.NewKeyList([]sources.Key{"e.txt", "missing.jpg", "a.jpg", "a.jpg"})
		}, map[string]int64{"create done": 2, "skip skipped": 3, "skip failed": 1}, "a.jpg e.txt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			for _, key := range []sources.Key{"a.jpg", "dir/b.jpg", "dir/c.txt", "e.txt"} {
				w.source.PutObject(sources.Object{Key: key, Time: old}, []byte(key))
			}
			w.source.PutObject(sources.Object{Key: "young.jpg", Time: young}, []byte("y"))
			r := migrate.DefaultRules()
			tc.set(&r)
			plan := w.migrate(r)
			w.wantStates(plan, tc.want)
			var keys []string
			for receipt, err := range w.store.Receipts(t.Context(), w.pair.ID, "") {
				must(t, err)
				keys = append(keys, string(receipt.Key))
			}
			if got := strings.Join(keys, " "); got != tc.keys {
				t.Errorf("got %q, want %q", got, tc.keys)
			}
			if tc.name == "files from" {
				if i := w.item(plan, "missing.jpg"); i.Reason != string(migrate.ReasonMissingAtSource) || i.Class != "permanent" {
					t.Errorf("the missing key: %+v", i)
				}
			}
		})
	}
}

func TestPilotGoesOnWithTheRest(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	r := migrate.DefaultRules()
	r.Limit = 2
	for n := range 3 {
		w.migrate(r)
		if got := len(w.assetsAt()); got != 2*(n+1) {
			t.Fatalf("got %d assets after %d pilots", got, n+1)
		}
	}
	w.wantAssets(want)
}

func TestObstacles(t *testing.T) {
	w := newWorld(t)
	w.put("ok.jpg", "ok")
	for key, o := range map[sources.Key]sources.Obstacle{
		"link.jpg": sources.Symlink, "broken.jpg": sources.BrokenSymlink, "pipe.jpg": sources.Special,
		"locked.jpg": sources.Unreadable, "cold.jpg": sources.Archived, "closed/": sources.UnreadableDirectory,
		"twice.jpg": sources.Ambiguous, "text.gdoc": sources.Unsized,
		"private/": sources.UnreadableDirectory, "private.jpg": sources.Unreadable,
	} {
		w.source.PutObject(sources.Object{Key: key, Obstacle: o}, nil)
	}
	r := migrate.DefaultRules()
	r.Exclude = []string{"private*"}
	plan := w.migrate(r)
	w.wantStates(plan, map[string]int64{"create done": 1, "skip skipped": 6, "skip failed": 3, "conflict conflict": 1})
	if plan.Hidden != 1 {
		t.Errorf("got %d hidden, want 1: what is excluded does not count", plan.Hidden)
	}
	if i := w.item(plan, "closed/"); i.Error != string(sources.UnreadableDirectory) {
		t.Errorf("got error %q", i.Error)
	}
}

func TestUnreadableDirectoryMayHoldWhatIsIncluded(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*migrate.Rules)
		want string
	}{
		{"include", func(r *migrate.Rules) { r.Include = []string{"*.jpg"} }, "skip failed"},
		{"files from in it", func(r *migrate.Rules) { r.FilesFrom = migrate.NewKeyList([]sources.Key{"closed/a.jpg"}) }, "skip failed"},
		{"files from elsewhere", func(r *migrate.Rules) { r.FilesFrom = migrate.NewKeyList([]sources.Key{"ok.jpg"}) }, "skip skipped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.put("ok.jpg", "ok")
			w.source.PutObject(sources.Object{Key: "closed/", Obstacle: sources.UnreadableDirectory}, nil)
			r := migrate.DefaultRules()
			tc.set(&r)
			i := w.item(w.migrate(r), "closed/")
			if got := string(i.Action) + " " + string(i.State); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestObjectsThatChangeAfterThePlan(t *testing.T) {
	w := newWorld(t)
	w.put("changed.jpg", "before", "gone.jpg", "x", "ok.jpg", "ok")
	rules := migrate.DefaultRules()
	run, err := w.store.Begin(t.Context(), w.pair, "migrate", []byte("{}"))
	must(t, err)
	plan, err := plan.New(w.deps(), rules).Plan(t.Context(), run)
	must(t, err)
	w.put("changed.jpg", "after it was planned")
	w.source.Delete("gone.jpg")
	must(t, w.applier(w.deps()).Apply(t.Context(), plan.Run))
	w.wantStates(plan, map[string]int64{"create done": 1, "create changed": 2})
	w.wantAssets([]placed{{"Images", "", "ok.jpg", checksum("ok")}})
	again := w.migrate(rules) // the next run adopts the assets
	w.wantStates(again, map[string]int64{"create done": 1, "unchanged skipped": 1})
	w.put("ok.jpg", "changed after it was sent")
	last := w.migrate(rules)
	if i := w.item(last, "ok.jpg"); i.Action != state.Skip || i.Reason != string(migrate.ReasonNeedsSync) {
		t.Errorf("got %s, %s", i.Action, i.Reason)
	}
	w.wantAssets([]placed{{"Images", "", "changed.jpg", checksum("after it was planned")}, {"Images", "", "ok.jpg", checksum("ok")}})
}

func TestRefusedUploadDoesNotStopTheOthers(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=400 once=2"))
	want := w.small()
	plan := w.migrate(migrate.DefaultRules())
	w.wantStates(plan, map[string]int64{"create done": 5, "create failed": 1})
	again := w.migrate(migrate.DefaultRules())
	w.wantStates(again, map[string]int64{"create done": 1, "unchanged skipped": 5})
	w.wantAssets(want)
}

func TestTooLargeIsAConflict(t *testing.T) {
	w := newWorld(t, func(o *sandbox.Options) { o.Limits.MaxFileSizeInBytes = 4 })
	w.put("large.jpg", "12345", "ok.jpg", "1234")
	plan := w.migrate(migrate.DefaultRules())
	w.wantStates(plan, map[string]int64{"create done": 1, "conflict conflict": 1})
}

func TestFailuresAlikeStopTheRun(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=400"))
	for n := range 100 {
		w.put(fmt.Sprintf("dir%d/%03d.jpg", n%7, n), "x")
	}
	_, err := w.try(t.Context(), migrate.DefaultRules())
	if err == nil || !strings.Contains(err.Error(), "failed alike") {
		t.Fatalf("got %v, want the circuit breaker", err)
	}
	if n := w.requests()["POST /assets"]; n > 40 {
		t.Errorf("sent %d uploads before it stopped", n)
	}
}

// Each answer names another asset, and all are the same failure.
func TestWrongReceiptsStopTheRun(t *testing.T) {
	w := newWorld(t)
	for n := range 100 {
		w.put(fmt.Sprintf(`C:\%03d.jpg`, n), "x") // the sandbox takes this for a path
	}
	_, err := w.try(t.Context(), migrate.DefaultRules())
	if err == nil || !strings.Contains(err.Error(), "failed alike") {
		t.Fatalf("got %v, want the circuit breaker", err)
	}
	if n := w.requests()["POST /assets"]; n > 40 {
		t.Errorf("sent %d uploads before it stopped", n)
	}
}

func TestBadCredentialsStopTheRun(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=401 once=3"))
	want := w.small()
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 1 })
	if !assets.IsAuth(err) {
		t.Fatalf("got %v, want an error of authentication", err)
	}
	w.wantStates(plan, map[string]int64{"create done": 2, "create planned": 4})
	w.migrate(migrate.DefaultRules())
	w.wantAssets(want)
}

func TestNoTokenNoPlan(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	bad, err := token.NewMinter(token.NewSecret("another key"), token.Claims{Environment: "nobody"})
	must(t, err)
	w.tokens = bad
	w.client = w.newClient(w.gate)
	if _, err := w.try(t.Context(), migrate.DefaultRules()); !assets.IsAuth(err) {
		t.Errorf("got %v, want an error of authentication", err)
	}
}

func TestAbortAndResume(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	cause := errors.New("second signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.gate.on(atUpload(3, func() error { cancel(cause); return nil }))
	plan, err := w.try(ctx, migrate.DefaultRules())
	if !errors.Is(err, cause) {
		t.Fatalf("got %v, want the cause", err)
	}
	w.gate.on(nil)
	w.migrate(migrate.DefaultRules())
	w.wantAssets(want)
	w.wantStates(plan, map[string]int64{"create done": 6})
}

func TestStopDrains(t *testing.T) {
	w := newWorld(t)
	for n := range 200 {
		w.put(fmt.Sprintf("%03d.jpg", n), "x")
	}
	stop := make(chan struct{})
	w.gate.on(atUpload(5, sync.OnceValue(func() error { close(stop); return nil })))
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Stop, a.Concurrency = stop, 1 })
	if !errors.Is(err, migrate.ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	got, _ := w.states(plan)
	if got["create done"] == 0 || got["create done"]+got["create planned"] != 200 || got["create planned"] == 0 {
		t.Errorf("got %v: what began should be done, the rest planned", got)
	}
	w.gate.on(nil)
	w.migrate(migrate.DefaultRules())
	if n := len(w.assetsAt()); n != 200 {
		t.Errorf("got %d assets, want 200", n)
	}
}

// TestStopDoesNotHideTheStateDatabase verifies that a stopped run also reports a failure of its
// state database.
func TestStopDoesNotHideTheStateDatabase(t *testing.T) {
	w := newWorld(t)
	for n := range 20 {
		w.put(fmt.Sprintf("%03d.jpg", n), "x")
	}
	stop := make(chan struct{})
	w.gate.on(atUpload(5, sync.OnceValue(func() error { close(stop); return nil })))
	full := nth(0, failing(errNoDisk)) // once
	w.before(func() error {
		select {
		case <-stop:
			return full()
		default:
			return nil
		}
	}, "record outcomes")
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Stop, a.Concurrency = stop, 1 })
	if !errors.Is(err, errNoDisk) {
		t.Errorf("got %v, want the error of the state database", err)
	}
	w.gate.on(nil)
	w.migrate(migrate.DefaultRules())
	if n := len(w.assetsAt()); n != 20 {
		t.Errorf("got %d assets, want 20", n)
	}
}

func TestResumeWhileScanning(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	d := w.deps()
	broken := &breaking{Source: w.source, at: "dir/d"}
	d.Source = broken
	_, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
	if !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want the error of the source", err)
	}
	broken.at = "\xff"
	_, err = w.tryWith(t.Context(), d, migrate.DefaultRules())
	must(t, err)
	if broken.after != "dir/b.png" {
		t.Errorf("went on after %q, want the cursor", broken.after)
	}
	w.wantAssets(want)
}

func TestSourceOutOfOrderIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.deps()
	d.Source = disorderly{w.source}
	w.put("a.jpg", "a", "b.jpg", "b")
	if _, err := w.tryWith(t.Context(), d, migrate.DefaultRules()); err == nil || !strings.Contains(err.Error(), "not sorted") {
		t.Errorf("got %v", err)
	}
}

func TestVanishedSourceIsAnError(t *testing.T) {
	w := newWorld(t)
	w.source.Vanish()
	if _, err := w.try(t.Context(), migrate.DefaultRules()); err == nil {
		t.Error("a source that is not there was taken for an empty one")
	}
}

func TestListedAgain(t *testing.T) {
	w := newWorld(t)
	w.small()
	ctx, cancel := context.WithCancel(t.Context())
	w.gate.on(atUpload(4, func() error { cancel(); return nil }))
	plan, err := w.try(ctx, migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 1 })
	if err == nil {
		t.Fatal("want an interrupted run")
	}
	w.gate.on(nil)
	must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), plan.Run))
	must(t, w.store.Relist(t.Context(), plan.Run.Num))
	w.put("z.jpg", "new")
	again := w.migrate(migrate.DefaultRules())
	if again.Run.ID != plan.Run.ID {
		t.Errorf("got run %s, want %s", again.Run.ID, plan.Run.ID)
	}
	if _, listed := w.states(again); listed != 7 {
		t.Errorf("accounts for %d objects, want 7", listed)
	}
	if n := len(w.assetsAt()); n != 7 {
		t.Errorf("got %d assets, want 7", n)
	}
}

func TestDeletedFoldersAreMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.put("dir/sub/a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	r, err := w.store.Receipt(t.Context(), w.pair.ID, "dir/sub/a.jpg")
	must(t, err)
	top, err := w.other.Folders(t.Context())
	must(t, err)
	w.delete("/folders/" + r.Folder) // its assets move to the parent
	w.delete("/folders/" + top[0].ID)
	w.put("dir/sub/b.jpg", "b", "dir/sub/c.jpg", "c", "dir/d.jpg", "d")
	w.migrate(migrate.DefaultRules())
	w.wantAssets([]placed{
		{"Images", "", "a.jpg", checksum("a")}, {"Images", "dir", "d.jpg", checksum("d")}, {"Images", "dir/sub", "b.jpg", checksum("b")}, {"Images", "dir/sub", "c.jpg", checksum("c")},
	})
}

func TestWrongReceiptIsUndone(t *testing.T) {
	w := newWorld(t)
	w.put(`C:\a.jpg`, "a", "ok.jpg", "ok") // the service removes what looks like a Windows path
	plan := w.migrate(migrate.DefaultRules())
	w.wantStates(plan, map[string]int64{"create done": 1, "create failed": 1})
	w.wantAssets([]placed{{"Images", "", "ok.jpg", checksum("ok")}})
	if i := w.item(plan, `C:\a.jpg`); !strings.Contains(i.Error, "moved to the trash") || i.Class != "permanent" {
		t.Errorf("got %s: %s", i.Class, i.Error)
	}
}

func TestWrongReceiptThatCannotBeUndone(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets/trash status=401"))
	w.put(`C:\a.jpg`, "a", "ok.jpg", "ok")
	plan := w.migrate(migrate.DefaultRules())
	w.wantStates(plan, map[string]int64{"create done": 1, "create failed": 1})
	if i := w.item(plan, `C:\a.jpg`); !strings.Contains(i.Error, "delete it by hand") {
		t.Errorf("got %s", i.Error)
	}
}

func TestApplyRefusesARunThatIsNotPlanned(t *testing.T) {
	w := newWorld(t)
	run, err := w.store.Begin(t.Context(), w.pair, "migrate", []byte("{}"))
	must(t, err)
	if err := w.applier(w.deps()).Apply(t.Context(), run); !errors.Is(err, state.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
}

// TestWrongReceiptWhileAborting verifies that an asset that was created and trashed again counts as
// sent, even if the run is aborted meanwhile.
func TestWrongReceiptWhileAborting(t *testing.T) {
	w := newWorld(t)
	w.put(`C:\a.jpg`, "a")
	ctx, cancel := context.WithCancel(t.Context())
	w.gate.on(func(_ int, r *httpRequest) error {
		if r.URL.Path == "/assets/trash" {
			cancel()
		}
		return nil
	})
	plan, err := w.try(ctx, migrate.DefaultRules())
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	w.wantStates(plan, map[string]int64{"create failed": 1})
	w.wantAssets(nil)
}
