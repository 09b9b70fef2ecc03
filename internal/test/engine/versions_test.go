package engine

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	inject "assetferry/internal/test/faults"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

// newVersionedWorld returns a world whose source keeps older versions.
func newVersionedWorld(t *testing.T, contents ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.source.Versioned = true
	w.put(contents...)
	return w
}

func versionRules(n int) migrate.Rules {
	r := migrate.DefaultRules()
	r.Versions = n
	return r
}

// history returns the contents of all revisions of an asset, the oldest first.
func (w *world) history(asset string) (contents []string) {
	w.Helper()
	all, err := w.other.Revisions(w.Context(), asset)
	must(w, err)
	slices.SortStableFunc(all, func(a, b assets.Revision) int { return a.CreatedAt.Compare(b.CreatedAt) })
	a, err := w.other.Asset(w.Context(), asset)
	must(w, err)
	for _, v := range all {
		r, _, err := w.other.DownloadRevision(w.Context(), a, v.ID, 0)
		must(w, err)
		content, err := io.ReadAll(r)
		must(w, err)
		must(w, r.Close())
		contents = append(contents, string(content))
	}
	return contents
}

func (w *world) wantHistory(key string, want ...string) {
	w.Helper()
	r := w.receipt(key)
	if diff := gocmp.Diff(want, w.history(r.Asset)); diff != "" {
		w.Errorf("revisions of %s (-want +got):\n%s", key, diff)
	}
	if now := want[len(want)-1]; w.content(assets.Asset{URL: r.URL}) != now || fmt.Sprintf("%x", r.Checksum) != checksum(now) {
		w.Errorf("%s has not its current content", key)
	}
	recorded, err := w.store.Revisions(w.Context(), w.pair.ID, r)
	must(w, err)
	var sums []string
	for _, v := range recorded {
		sums = append(sums, fmt.Sprintf("%x", v.Checksum))
	}
	var wantSums []string
	for _, content := range want[:len(want)-1] {
		wantSums = append(wantSums, checksum(content))
	}
	if diff := gocmp.Diff(wantSums, sums); diff != "" {
		w.Errorf("recorded revisions of %s (-want +got):\n%s", key, diff)
	}
}

// TestVersions verifies that the last versions of an object become the revisions of one asset, that
// the asset has the metadata of the current version, and what that costs.
func TestVersions(t *testing.T) {
	w := newVersionedWorld(t, "a.jpg", "1", "a.jpg", "22", "a.jpg", "333", "a.jpg", "4444", "dir/b.jpg", "b", "c.txt", "old", "c.txt", "new")
	with := func(a *apply.Applier) { a.Provenance = "always" }
	var plan migrate.Plan
	asked := w.during(func() {
		var err error
		plan, err = w.try(t.Context(), versionRules(3), with)
		must(t, err)
	})
	want := map[string]int{"POST /assets": 3, "POST /assets/{id}": 3, "PATCH /assets/{id}": 3, "POST /folders": 1}
	if diff := gocmp.Diff(want, writes(asked)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w.wantStates(plan, map[string]int64{"create done": 3})
	w.wantHistory("a.jpg", "22", "333", "4444")
	w.wantHistory("dir/b.jpg", "b")
	w.wantHistory("c.txt", "old", "new")
	sum, err := w.store.Histories(t.Context(), plan.Run.Num)
	must(t, err)
	if diff := gocmp.Diff(state.HistorySum{Objects: 2, Older: 4, OlderBytes: 9, Brought: 3, BroughtBytes: 8}, sum); diff != "" {
		t.Errorf("histories (-want +got):\n%s", diff)
	}
	if w.watch.items["a.jpg"].State != state.ItemDone || len(w.watch.items) != 3 {
		t.Errorf("reported: %v", w.watch.items)
	}
	w.verifies()

	again, err := w.try(t.Context(), versionRules(3), with)
	must(t, err)
	w.wantStates(again, map[string]int64{"unchanged skipped": 3})
	must(t, ignore(w.undoRun(t.Context(), w.deps(), plan.Run.ID, true)))
	w.wantAssets(nil)
}

func ignore[T any](_ T, err error) error { return err }

// TestSyncBringsNewVersions verifies that a sync brings all versions since the last run, in order.
func TestSyncBringsNewVersions(t *testing.T) {
	w := newVersionedWorld(t, "a.jpg", "1", "a.jpg", "22", "b.jpg", "b")
	w.migrate(versionRules(5))
	w.put("a.jpg", "333", "a.jpg", "4444", "b.jpg", "bb")
	rules := versionRules(5)
	rules.Sync = migrate.DefaultSyncRules()
	asked := w.during(func() { w.migrate(rules) })
	if diff := gocmp.Diff(map[string]int{"POST /assets/{id}": 3}, writes(asked)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w.wantHistory("a.jpg", "1", "22", "333", "4444")
	w.wantHistory("b.jpg", "b", "bb")
	w.verifies()
}

// TestVersionWithAnotherTime verifies that a sync recognises the version of an asset at a source that
// changes the time of a version when it is replaced, also if a newer version has the same content.
func TestVersionWithAnotherTime(t *testing.T) {
	w := newVersionedWorld(t, "a.jpg", "0", "a.jpg", "1", "b.jpg", "1")
	d := w.deps()
	d.Source = &latecomers{w.source}
	rules := versionRules(9)
	must(t, ignore(w.tryWith(t.Context(), d, rules)))
	w.put("a.jpg", "22", "a.jpg", "333", "b.jpg", "22", "b.jpg", "1", "b.jpg", "333")
	rules.Sync = migrate.DefaultSyncRules()
	must(t, ignore(w.tryWith(t.Context(), d, rules)))
	w.wantHistory("a.jpg", "0", "1", "22", "333")
	w.wantHistory("b.jpg", "1", "22", "1", "333")
}

// A latecomers is a source whose older versions have the time of their replacement. Its version tags
// depend on the content alone.
type latecomers struct{ *memory.Source }

func (s *latecomers) Traits() sources.Traits {
	t := s.Source.Traits()
	t.ContentTags = true
	return t
}

// tagged returns an object with a tag of its content, and the tag of the wrapped source.
func (s *latecomers) tagged(o sources.Object) sources.Object {
	r, err := s.Source.Open(context.Background(), o, 0)
	if err != nil {
		return o
	}
	content, _ := io.ReadAll(r)
	o.ContentType = o.VersionTag
	o.VersionTag = checksum(string(content))
	return o
}

func (s *latecomers) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		s.Source.Objects(ctx, after)(func(o sources.Object, err error) bool { return yield(s.tagged(o), err) })
	}
}

func (s *latecomers) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		last := o.Time
		s.Source.Versions(ctx, o)(func(v sources.Object, err error) bool {
			v = s.tagged(v)
			v.Time, last = last, v.Time
			return yield(v, err)
		})
	}
}

func (s *latecomers) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.VersionTag = o.ContentType; o.Version != "" {
		o.VersionTag = o.Version
	}
	return s.Source.Open(ctx, o, offset)
}

// TestVersionsWithoutContent verifies that versions that cannot be read any more are omitted.
func TestVersionsWithoutContent(t *testing.T) {
	w := newVersionedWorld(t, "a.jpg", "1", "a.jpg", "22", "a.jpg", "333", "b.jpg", "1", "b.jpg", "22")
	w.before(nth(0, func() error {
		w.source.DropVersions("a.jpg", func(content []byte) bool { return string(content) == "22" })
		w.source.DropVersions("b.jpg", func(content []byte) bool { return string(content) == "1" })
		return nil
	}), "take items", "record outcomes")
	w.migrate(versionRules(3))
	w.unhook()
	w.wantHistory("a.jpg", "1", "333")
	w.wantHistory("b.jpg", "22")
}

// TestRefusedVersions verifies that an older version which the scanner or the service refuses is omitted
// and reported, and that a refused current version is a failure of its object.
func TestRefusedVersions(t *testing.T) {
	t.Parallel()
	w, g := newVersionedWorld(t, "first.jpg", "evil", "first.jpg", "22", "middle.jpg", "1", "middle.jpg", "evil", "middle.jpg", "333",
		"last.jpg", "1", "last.jpg", "22", "last.jpg", "evil", "all.jpg", "evil1", "all.jpg", "evil2"), &wordScanner{}
	p, err := w.try(t.Context(), versionRules(3), scannedBy(g))
	must(t, err)
	w.wantStates(p, map[string]int64{"create done": 2, "create failed": 2})
	w.wantHistory("first.jpg", "22")
	w.wantHistory("middle.jpg", "1", "333")
	if diff := gocmp.Diff([]string{"1", "22"}, w.history(w.receipt("last.jpg").Asset)); diff != "" {
		t.Errorf("revisions of last.jpg (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"first.jpg":  "^older versions omitted: changed 2026-01-01 00:00:01 \\(refused by the scan: Evil\\)$",
		"middle.jpg": "^older versions omitted: changed 2026-01-01 00:00:04 \\(refused by the scan: Evil\\)$",
		"last.jpg":   "^refused by the scan: Evil; its asset has an older version$",
		"all.jpg":    "^refused by the scan: Evil; older versions omitted: changed 2026-01-01 00:00:09 \\(refused by the scan: Evil\\)$",
	} {
		if i := w.item(p, key); !regexp.MustCompile(want).MatchString(i.Error) || w.watch.items[key].Error != i.Error {
			t.Errorf("%s: %q, reported as %q", key, i.Error, w.watch.items[key].Error)
		}
	}
	sum, err := w.store.Histories(t.Context(), p.Run.Num)
	must(t, err)
	if sum.Brought != 6 || sum.Omitted != 3 {
		t.Errorf("histories: %+v", sum)
	}
	attempts, err := w.store.Attempts(t.Context(), p.Run.Num, "middle.jpg")
	must(t, err)
	if len(attempts) != 1 || attempts[0].Error != "older version 2: refused by the scan: Evil" || attempts[0].Class != state.ClassRefused {
		t.Errorf("attempts: %+v", attempts)
	}
	w.verifies()

	again, err := w.try(t.Context(), versionRules(3), scannedBy(g))
	must(t, err)
	w.wantStates(again, map[string]int64{"unchanged skipped": 2, "create retries_exhausted": 1, "replace retries_exhausted": 1})
	w.put("last.jpg", "cleaned", "all.jpg", "cleaned")
	rules := versionRules(3)
	rules.Sync = migrate.DefaultSyncRules()
	synced, err := w.try(t.Context(), rules, scannedBy(g))
	must(t, err)
	w.wantStates(synced, map[string]int64{"unchanged skipped": 2, "create done": 1, "replace done": 1})
	w.wantHistory("last.jpg", "1", "22", "cleaned")
	w.wantHistory("all.jpg", "cleaned")
}

// TestVersionsRefusedByService verifies the same for a service that does not accept one version, and that
// a version which may be accepted later is not omitted.
func TestVersionsRefusedByService(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string][]string{
		"POST /assets status=422 once=1":      {"22", "333", "4444"},
		"POST /assets/{id} status=422 once=1": {"1", "333", "4444"},
		"POST /assets/{id} status=422 once=2": {"1", "22", "4444"},
		"POST /assets/{id} status=500 once=1": {"1", "22", "333", "4444"},
	} {
		w := newWorld(t, faults(t, rule))
		w.source.Versioned = true
		w.put("a.jpg", "1", "a.jpg", "22", "a.jpg", "333", "a.jpg", "4444")
		p := w.migrate(versionRules(4))
		w.wantHistory("a.jpg", want...)
		if omitted := strings.Contains(w.item(p, "a.jpg").Error, migrate.RemarkVersionsOmitted); omitted != (len(want) < 4) {
			t.Errorf("%s: %q", rule, w.item(p, "a.jpg").Error)
		}
		w.verifies()
		w.close()
	}
}

// TestVerifyVersions verifies which revisions are differences, and that the current content of an asset
// after an undo is none.
func TestVerifyVersions(t *testing.T) {
	t.Parallel()
	w := newVersionedWorld(t, "a.jpg", "1", "a.jpg", "22", "a.jpg", "333", "b.jpg", "b", "b.jpg", "B", "c.jpg", "c")
	w.migrate(versionRules(3))
	check := func(level string, wantRevisions int64, want ...string) {
		t.Helper()
		w.watch.differences = nil
		v := verify.New(w.deps(), level, 0)
		v.Revisions = true
		result, err := v.Verify(t.Context(), w.pair)
		must(t, err)
		var got []string
		for _, d := range w.watch.differences {
			note := ""
			if d.Note {
				note = "note: "
			}
			if d.Field != "processing" {
				got = append(got, fmt.Sprint(d.Key, " ", d.Field, ": ", note, d.What))
			}
		}
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" || result.Revisions != wantRevisions {
			t.Errorf("%s: %d revisions, differences (-want +got):\n%s", level, result.Revisions, diff)
		}
	}
	check(verify.LevelListing, 3)
	check(verify.LevelChecksum, 3)

	w.put("c.jpg", "without versions")
	rules := migrate.DefaultRules()
	rules.Sync = migrate.DefaultSyncRules()
	synced := w.migrate(rules)
	must(t, w.store.Write(t.Context(), "forge revisions", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE revisions SET num = num + 10 WHERE asset = ?1; UPDATE revisions SET num = 1 WHERE asset = ?1 AND num = 12;
			UPDATE revisions SET checksum = zeroblob(32) WHERE asset = ?2`, w.receipt("a.jpg").Asset, w.receipt("b.jpg").Asset)
		return err
	}))
	reordered := "a.jpg revisions: lacks revision 11 of 2, the version changed 2026-01-01 00:00:01 (1 bytes), or has it in another order"
	check(verify.LevelListing, 3, reordered)
	check(verify.LevelChecksum, 3, reordered, "b.jpg revisions: lacks revision 1 of 1, the version changed 2026-01-01 00:00:04 (1 bytes), or has it in another order")

	w.put("b.jpg", "more", "b.jpg", "and more")
	sync3 := versionRules(3)
	sync3.Sync = migrate.DefaultSyncRules()
	again := w.migrate(sync3)
	check(verify.LevelListing, 5, reordered)
	must(t, ignore(w.undoRun(t.Context(), w.deps(), again.Run.ID, true)))
	check(verify.LevelListing, 3, reordered, "b.jpg revisions: note: has 3 revisions besides the current one, 2 more than were uploaded")
	must(t, ignore(w.undoRun(t.Context(), w.deps(), synced.Run.ID, true)))
}

// TestUnreadableVersion verifies that an older version which may not be read is not omitted.
func TestUnreadableVersion(t *testing.T) {
	t.Parallel()
	w := newVersionedWorld(t, "a.jpg", "1", "a.jpg", "22", "a.jpg", "333")
	d := w.deps()
	locked := &lockedVersions{Source: w.source}
	d.Source = locked
	locked.is.Store(true)
	p, err := w.tryWith(t.Context(), d, versionRules(3))
	must(t, err)
	w.wantStates(p, map[string]int64{"create failed": 1})
	locked.is.Store(false)
	p, err = w.tryWith(t.Context(), d, versionRules(3))
	must(t, err)
	w.wantStates(p, map[string]int64{"create done": 1})
	w.wantHistory("a.jpg", "1", "22", "333")
}

// A lockedVersions is a source that does not let older versions be read for a while.
type lockedVersions struct {
	*memory.Source
	is atomic.Bool
}

func (s *lockedVersions) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.Version != "" && s.is.Load() {
		return nil, &sources.Error{Op: "open", Source: "memory", Key: o.Key, Err: fs.ErrPermission}
	}
	return s.Source.Open(ctx, o, offset)
}

// TestSweepOfVersions makes every call fail in every way while versions are brought, and repeats the
// command without faults. It verifies that the revisions are in order and that none exists twice.
func TestSweepOfVersions(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t)
	step := 4 * slowdown
	if sweepsAll() {
		step = 1
	}
	for _, b := range blows() {
		if b.kind == "not there" || b.kind == "changed" { // then a version is omitted
			continue
		}
		first, lasts := random.IntN(step), random.IntN(3) == 0
		t.Run(fmt.Sprintf("%v%s", b, lasting(lasts)), func(t *testing.T) {
			t.Parallel()
			n := first
			for survivesWithVersions(t, hit{b, n, lasts}, n%2 == 0) {
				n += step
			}
			t.Logf("%d runs, with faults at calls %d to %d", (n-first)/step, first, n-1)
		})
	}
}

// survivesWithVersions migrates with a fault and then without one, and reports whether it occurred.
func survivesWithVersions(t *testing.T, h hit, restarts bool) bool {
	t.Helper()
	w := newVersionedWorld(t, "a.jpg", "1", "a.jpg", "22", "a.jpg", "333", "a.jpg", "4444", "dir/b.txt", strings.Repeat("x", 70<<10), "dir/b.txt", "bb", "c.jpg", "c")
	defer w.close()
	s := sweep{workers: 2, provenance: "always", described: true, restarts: restarts}
	transport, d, at := w.gate.next, s.deps(w), h.moment()
	h.strike(w, &d, at)
	_, err := w.tryWith(t.Context(), d, versionRules(3), s.applier)
	w.gate.next = transport
	w.unhook()
	if s.restarts {
		s.giveUp(w)
	}
	done := false
	for range 4 {
		plan, again := w.tryWith(t.Context(), s.deps(w), versionRules(3), s.applier)
		must(t, again)
		states, listed := w.states(plan)
		if done = states["create done"]+states["replace done"]+states["update_metadata done"]+states["unchanged skipped"] == listed; done {
			break
		}
	}
	if !done {
		t.Errorf("%v, after a run that ended with %v: not done", h, err)
		return at.Came()
	}
	w.wantSound()
	w.wantHistory("a.jpg", "22", "333", "4444")
	w.wantHistory("dir/b.txt", strings.Repeat("x", 70<<10), "bb")
	w.wantHistory("c.jpg", "c")
	if n := len(w.assetsAt()); n != 3 {
		t.Errorf("%v, after a run that ended with %v: %d assets", h, err, n)
	}
	for _, key := range []string{"a.jpg", "dir/b.txt", "c.jpg"} {
		a, err := w.other.Asset(t.Context(), w.receipt(key).Asset)
		must(t, err)
		if m := (byKey{}).of(key); a.Metadata.Description != m.Description || a.Metadata.CustomAttributes["assetferry"] == nil {
			t.Errorf("%v: %s is described as %q", h, key, a.Metadata.Description)
		}
	}
	if t.Failed() {
		t.Fatalf("%v, after a run that ended with %v", h, err)
	}
	return at.Came()
}

var _ sources.Historian = &inject.Source{}
