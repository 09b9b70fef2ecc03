package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/test/seedtest"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

var (
	daysFlag  = flag.Int("days", 60, "how many days TestSixtyDays lives")
	livesFlag = flag.Int("lives", 0, "how many lives TestSixtyDays lives, each by another seed; 0 is a few that are always the same")
)

// TestSixtyDays syncs a library each day, while its source, users at the destination and injected
// faults change everything at random. It verifies that, after every run without faults, the
// destination and the report of the run equal the prediction of the model. For even seeds the
// service has one interpretation of undocumented behaviour, for odd seeds the other; the flag
// -reading sets it for all. The long form is
//
//	go test ./internal/test/engine -run SixtyDays -lives 30 -timeout 60m -reading "folders: flat; category_listing: deep"
func TestSixtyDays(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, 6}[:max(1, 6/slowdown)]
	switch {
	case seedtest.Flagged() != 0:
		seeds = []uint64{seedtest.Flagged()}
	case *livesFlag > 0:
		seeds = make([]uint64, *livesFlag)
		for n := range seeds {
			seeds[n] = rand.Uint64()
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { live(t, seed) })
		})
	}
}

func live(t *testing.T, seed uint64) {
	// A state database warns if its file is newer than its owner.
	time.Sleep(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
	l := newLife(t, seed)
	defer l.close()
	defer func() {
		if t.Failed() {
			t.Logf("to have it again: -run TestSixtyDays -seed %d\n%s", seed, strings.Join(l.script, "\n"))
		}
	}()
	for n := range *daysFlag {
		l.notes("day %d", n)
		time.Sleep(10 * time.Hour)
		l.heal()
		l.day()
		time.Sleep(time.Hour)
		if n > 0 && l.left == nil {
			l.visit()
		}
		time.Sleep(time.Hour)
		l.sync(n)
		if t.Failed() {
			return
		}
		time.Sleep(11*time.Hour + time.Duration(l.IntN(90))*time.Minute)
	}
}

// newLife returns a world in which nothing waits for anything outside of it, so that all of its
// clocks can be moved at once.
func newLife(t *testing.T, seed uint64) *life {
	made := tokens.NewCredentials()
	server, err := sandbox.New(sandbox.Options{
		Environments: []tokens.Environment{{ID: made.EnvironmentID, AccessKey: made.AccessKey}},
		Profile:      sandboxtest.Read(t, sandboxtest.Reading(int(seed%2))),
	})
	must(t, err)
	wires := &wires{calls: make(chan net.Conn), closed: make(chan struct{})}
	serving := &http.Server{Handler: server}
	go serving.Serve(wires)
	w := &world{TB: t, source: &memory.Source{}, url: "http://sandbox.test", gate: &gate{next: wires.transport()}, watch: &witness{}}
	w.tokens, err = token.NewMinter(token.NewSecret(string(made.AccessKey)), token.Claims{Environment: made.EnvironmentID})
	must(t, err)
	client := func(rt http.RoundTripper) *assets.Client {
		c, err := assets.New(assets.Options{BaseURL: w.url, Tokens: w.tokens, Transport: rt, AllowHTTP: true, Retry: retry.Policy{Attempts: 3, First: time.Second, Max: time.Second}})
		must(t, err)
		return c
	}
	w.client, w.other = client(w.gate), client(wires.transport())
	w.rest = func() {} // the days of the test are long enough
	w.shut = func() {
		w.client.CloseIdleConnections()
		w.other.CloseIdleConnections()
		must(t, serving.Close())
		must(t, server.Close())
		if w.store != nil {
			must(t, w.store.Close())
		}
	}
	for c, err := range w.other.Categories(t.Context()) {
		must(t, err)
		must(t, w.other.DeleteCategory(t.Context(), c.ID))
	}
	w.images, w.texts = w.category("Images", "jpg", "png"), w.category("Texts", "txt", "bin")
	w.openState(filepath.Join(t.TempDir(), "state.db"))
	l := &life{world: w, Rand: rand.New(rand.NewPCG(seed, 60)), model: newModel(), contents: map[string]string{}}
	l.people = map[string]string{"Images": w.folder(w.images, "", "by people"), "Texts": w.folder(w.texts, "", "by people")}
	l.putObject(alwaysThere, "always there", sources.Object{})
	for range 12 {
		l.atSource()
	}
	return l
}

// wires are connections within the process.
type wires struct {
	calls  chan net.Conn
	closed chan struct{}
}

func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wires) Close() error   { close(w.closed); return nil }
func (w *wires) Addr() net.Addr { return &net.UnixAddr{Name: "wires", Net: "unix"} }

func (w *wires) transport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case w.calls <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
}

// sync is the run of a day. Faults may occur in its first attempts and not in its last one, unless
// the run is left unfinished for the next day.
func (l *life) sync(n int) {
	day := l.drawRun()
	if l.left != nil {
		day = l.left.round
	}
	l.model.unread = l.unreadSince()
	evening := l.model.copied()
	f := l.model.foresee(day, time.Now())
	l.notes("  night: delete %s, %s, repair %v, checksum %v, share %.2f, accept %d deletes and %d changes: %v", day.rules.Sync.Delete,
		day.rules.Sync.OnDestinationChange, day.rules.Sync.Repair, day.rules.Sync.Checksum, day.share, day.limit.AcceptDeletes, day.limit.AcceptChanges, f.summary())
	if l.left != nil {
		l.finishes(day, f, false)
		l.learn(l.left.model, evening)
		l.left = nil
		return
	}
	var plan migrate.Plan
	disturbed := l.chance(45)
	if disturbed {
		if plan = l.trouble(day); l.isOpen(plan) && l.chance(25) {
			l.notes("  left for the next run")
			l.left = &unfinished{day, evening}
			return
		}
	}
	if !disturbed || l.isOpen(plan) {
		plan = l.finishes(day, f, !disturbed)
	}
	if disturbed && !l.isAsForeseen(plan, f) {
		l.learn(evening, evening)
		return
	}
	if f.Guarded {
		if len(plan.FailedChecks) == 0 {
			l.Errorf("day %d: nothing stopped a night of too many changes: %v", n, f.summary())
		}
		l.isThere(n)
		return
	}
	l.model.carryOut(f, l.newAsset)
	l.reports(n, plan, f)
	l.isThere(n)
	switch {
	case l.Failed():
	case l.chance(12):
		l.undoes(n, plan, f, evening)
	case l.chance(25):
		l.again(n, day)
	case l.chance(10):
		_, err := l.store.Prune(l.Context(), time.Now().AddDate(0, 0, -7))
		must(l, err)
		l.notes("  pruned")
	}
}

// isOpen reports whether there is no plan yet, or one that is not applied.
func (l *life) isOpen(p migrate.Plan) bool {
	if p.Run.ID == "" || len(p.FailedChecks) > 0 {
		return true
	}
	run, err := l.store.Run(l.Context(), p.Run.ID)
	must(l, err)
	return run.State != state.Finished
}

// isAsForeseen reports whether the outcomes of objects equal the prediction. After a fault an
// object may wait for the next run, or be uploaded without need.
func (l *life) isAsForeseen(p migrate.Plan, f *expected) bool {
	if len(p.FailedChecks) > 0 {
		return f.Guarded
	}
	return gocmp.Equal(f.report(), l.itemsOf(p, f))
}

func (f *expected) summary() map[string]int {
	n := map[string]int{}
	for _, v := range f.Items {
		n[fmt.Sprintf("%s (%s)", v.Action, v.Reason)]++
	}
	return n
}

func (l *life) drawRun() round {
	n := round{rules: syncing(), share: pick(l, []float64{0, 0, 1.0 / 30, 1.0 / 30, 1.0 / 4, 1})}
	s := n.rules.Sync
	s.Delete = pick(l, []string{"never", "trash", "trash", "trash"})
	s.OnDestinationChange = pick(l, []string{"keep", "keep", "keep", "keep", "overwrite", "report"})
	s.Repair, s.Checksum = l.chance(8), l.chance(8)
	n.limit = safety.SafetyChecks{Sentinel: alwaysThere, MaxDelete: 3, MaxDeletePercent: 8, MaxChanges: 9, MaxChangesPercent: 100}
	if l.chance(20) {
		n.limit.AcceptDeletes = 1000
	}
	if l.chance(40) {
		n.limit.AcceptChanges = 1000
	}
	return n
}

func (l *life) deps() migrate.Deps {
	d := l.world.deps()
	d.Describer = l.model
	return d
}

// once does what one call of the command does.
func (l *life) once(ctx context.Context, d migrate.Deps, n round) (planned migrate.Plan, err error) {
	a := apply.New(d, l.client)
	a.FormerAlive, a.Concurrency = l.store.FormerAlive(), 4
	run, err := d.State.Unfinished(ctx, l.pair)
	switch {
	case errors.Is(err, state.ErrNotFound) || err == nil && run.State != state.Applying:
		run, err = d.State.Begin(ctx, l.pair, "sync", marshal(l.world, n.rules))
	case err == nil && (run.Stale || time.Since(run.ListedAt) > 12*time.Hour):
		if err = a.ConfirmUploads(ctx, run); err == nil {
			err = d.State.Relist(ctx, run.Num)
		}
	}
	if err != nil {
		return planned, err
	}
	p := plan.New(d, n.rules)
	p.SafetyChecks, p.DriftShare, p.FormerAlive, p.Concurrency = n.limit, n.share, a.FormerAlive, 4
	if planned, err = l.planWith(ctx, p, run); err != nil || len(planned.FailedChecks) > 0 {
		return planned, err
	}
	return planned, a.Apply(ctx, planned.Run)
}

// finishes syncs until the run is finished, without faults. If there never was a fault, it counts
// the requests.
func (l *life) finishes(n round, f *expected, exact bool) migrate.Plan {
	for attempt := range 10 {
		sent := l.counting()
		plan, err := l.once(l.Context(), l.deps(), n)
		l.gate.on(nil)
		if err != nil {
			l.dumps(plan)
			l.Fatalf("%v", err)
		}
		if run, err := l.store.Run(l.Context(), plan.Run.ID); err != nil || run.State == state.Finished || len(plan.FailedChecks) > 0 {
			must(l, err)
			if exact && attempt == 0 {
				l.wantSent(f, sent())
			}
			return plan
		}
		l.notes("  not finished, again")
		time.Sleep(5 * time.Minute)
	}
	l.Fatal("no end in sight")
	panic("not reached")
}

// counting returns a function that counts the writing requests from now on.
func (l *life) counting() func() map[string]int {
	count := map[string]int{}
	l.gate.on(func(_ int, r *http.Request) error {
		l.gate.mu.Lock()
		defer l.gate.mu.Unlock()
		what := r.Method + " " + r.URL.Path
		if id, ok := strings.CutPrefix(r.URL.Path, "/assets/"); ok && len(id) == 12 {
			what = r.Method + " /assets/{id}"
		}
		count[what]++
		return nil
	})
	return func() map[string]int { return count }
}

// wantSent verifies that content is sent for created and replaced assets only, and that a run
// without changes sends no writing request.
func (l *life) wantSent(f *expected, sent map[string]int) {
	l.Helper()
	if f.Guarded {
		if w := writes(sent); len(w) > 0 {
			l.Errorf("although guarded it sent %v", w)
		}
		return
	}
	if got, want := sent["POST /assets"], f.count(state.Create); got != want {
		l.Errorf("sent %d new contents, want %d", got, want)
	}
	if got, want := sent["POST /assets/{id}"], f.count(state.Replace); got != want {
		l.Errorf("sent %d other contents, want %d", got, want)
	}
	if f.count(state.Trash) == 0 && sent["POST /assets/trash"] > 0 {
		l.Error("trashed something")
	}
	if f.count(state.Create, state.Replace, state.UpdateMetadata, state.Move, state.Trash) == 0 {
		if w := writes(sent); len(w) > 0 {
			l.Errorf("on a unchanged sync it sent %v", w)
		}
		if f.round.share == 0 && !f.round.rules.Sync.Repair && !f.asks() && len(sent) > 0 {
			l.Errorf("on a unchanged sync it asked %v", sent)
		}
	}
}

// asks reports whether a run has to request assets at the destination.
func (f *expected) asks() bool {
	for _, v := range f.Items {
		if v.Action == state.Conflict || v.Reason == migrate.ReasonAssetDeleted || v.Reason == migrate.ReasonOnlyVersionChanged || f.round.rules.Sync.Checksum {
			return true
		}
	}
	return false
}

// newAsset returns the ID of the asset that was created for an object.
func (l *life) newAsset(key string) string {
	r, err := l.store.Receipt(l.Context(), l.pair.ID, sources.Key(key))
	if err != nil || l.model.things[r.Asset] != nil {
		l.Errorf("%s has no asset of its own: %q, %v", key, r.Asset, err)
	}
	return r.Asset
}

// reports compares the report of a run with the model.
func (l *life) reports(n int, plan migrate.Plan, f *expected) {
	l.Helper()
	if diff := gocmp.Diff(f.report(), l.itemsOf(plan, f)); diff != "" {
		l.Errorf("day %d: the report (-model +got):\n%s", n, diff)
	}
	run, err := l.store.Run(l.Context(), plan.Run.ID)
	must(l, err)
	if run.Unchanged != f.Unchanged {
		l.Errorf("day %d: %d unchanged, want %d", n, run.Unchanged, f.Unchanged)
	}
	if (run.Stopped != "") != f.Stopped {
		l.Errorf("day %d: stopped %q, want %v", n, run.Stopped, f.Stopped)
	}
	if _, listed := l.states(plan); listed != f.Unchanged+int64(len(f.Items)) {
		l.Errorf("day %d: the sums come to %d, want %d", n, listed, f.Unchanged+int64(len(f.Items)))
	}
}

// itemsOf returns the items of a run as lines by key.
func (l *life) itemsOf(plan migrate.Plan, f *expected) map[string]string {
	got, want := map[string]string{}, f.report()
	for i, err := range l.store.Items(l.Context(), plan.Run.Num) {
		must(l, err)
		got[string(i.Key)] = line(i.Action, i.Reason, string(i.PreviousKey), i.State)
		if i.Error != "" && got[string(i.Key)] != want[string(i.Key)] {
			got[string(i.Key)] += ": " + i.Error
		}
	}
	return got
}

// isThere compares the destination and the state database with the model.
func (l *life) isThere(n int) {
	l.Helper()
	want, held := map[string]string{}, map[string]string{}
	for id, t := range l.model.things {
		want[id] = t.String()
	}
	for key, known := range l.model.known {
		held[key] = known.asset + " " + checksum(known.content)
	}
	all, _ := l.found()
	have := map[string]string{}
	for id, t := range all {
		have[id] = t.String()
	}
	if diff := gocmp.Diff(want, have); diff != "" {
		l.Errorf("day %d: at the destination (-model +got):\n%s", n, diff)
	}
	got := map[string]string{}
	for r, err := range l.store.Receipts(l.Context(), l.pair.ID, "") {
		must(l, err)
		got[string(r.Key)] = fmt.Sprintf("%s %x", r.Asset, r.Checksum)
	}
	if diff := gocmp.Diff(held, got); diff != "" {
		l.Errorf("day %d: in the state database (-model +got):\n%s", n, diff)
	}
	l.wantSound()
}

func (t *thing) String() string {
	if t.Trashed {
		return "in the trash"
	}
	return fmt.Sprintf("%v %q %q %v", t.At, t.Content, t.Words.Description, t.Words.Tags)
}

// found returns all assets at the destination by ID, and the folders by theirs.
func (l *life) found() (all map[string]seenThing, folders map[string]string) {
	l.Helper()
	all, folders = map[string]seenThing{}, map[string]string{}
	for a, err := range l.other.Trashed(l.Context()) {
		must(l, err)
		all[a.ID] = seenThing{thing: thing{Trashed: true}}
	}
	list := func(category, folder string, o assets.ListOptions) {
		folders[o.FolderID] = folder
		for a, err := range l.other.List(l.Context(), o) {
			must(l, err)
			slices.Sort(a.Tags)
			t := thing{Content: l.world.content(a), At: spot{category, folder, a.Filename()}, Words: words{a.Metadata.Description, a.Tags}}
			all[a.ID] = seenThing{t, a.LastModifiedAt}
		}
	}
	var walk func(category, dir string, f assets.Folder)
	walk = func(category, dir string, f assets.Folder) {
		list(category, dir+f.Name, assets.ListOptions{FolderID: f.ID})
		deeper, err := l.other.Folder(l.Context(), f.ID, 1)
		must(l, err)
		for _, sub := range deeper.Folders {
			walk(category, dir+f.Name+"/", sub)
		}
	}
	top, err := l.other.Folders(l.Context())
	must(l, err)
	for category, id := range map[string]string{"Images": l.images, "Texts": l.texts} {
		list(category, "", listOf(id))
		for _, f := range top {
			if f.CategoryID == id {
				walk(category, "", f)
			}
		}
	}
	return all, folders
}

// A seenThing is an asset as the service has it.
type seenThing struct {
	thing
	modified time.Time
}

// unreadSince returns when all objects that are unreadable now and have no asset were first listed,
// and in every finished run since. It is zero if there are none.
func (l *life) unreadSince() (since time.Time) {
	var shut []sources.Key
	for key, o := range l.model.objects {
		if o.Obstacle.HidesObjects() || o.Obstacle != "" && l.model.known[key].asset == "" {
			shut = append(shut, sources.Key(key))
		}
	}
	if len(shut) == 0 {
		return since
	}
	since = time.Now()
	runs, err := l.store.RunsOf(l.Context(), l.pair.ID, 1000)
	must(l, err)
	for _, r := range runs {
		rules, err := migrate.ReadRules(r)
		must(l, err)
		if r.State != state.Finished || r.Undoes != 0 || !rules.FollowsDeletions() {
			continue
		}
		for _, key := range shut {
			i, err := l.store.Item(l.Context(), r.Num, key)
			if errors.Is(err, state.ErrNotFound) || err == nil && (i.Obstacle == "" || i.State != state.ItemFailed) {
				return since
			}
			must(l, err)
		}
		since = r.ListedAt
	}
	return since
}

// learn updates the model after a run with faults, whose result cannot be predicted. It verifies
// that nothing is lost and nothing exists twice.
//
// The run began with one model and ended with another if the source changed in between. An
// unconfirmed upload whose object has been deleted since may have left an asset without an object.
func (l *life) learn(began, evening *model) {
	l.Helper()
	l.notes("  learned anew")
	all, folders := l.found()
	folders[""] = ""
	m := &model{objects: l.model.objects, words: l.model.words, things: map[string]*thing{}, known: map[string]remembrance{}}
	for id, now := range all {
		t := now.thing
		if before := evening.things[id]; before != nil {
			if t.Trashed {
				t = *before
				t.Trashed = true
			}
			t.rewritten = before.rewritten && before.Content == t.Content
			t.touched = before.touched
		}
		m.things[id] = &t
	}
	owned := map[string]string{}
	for r, err := range l.store.Receipts(l.Context(), l.pair.ID, "") {
		must(l, err)
		known := remembrance{asset: r.Asset, content: l.contents[fmt.Sprintf("%x", r.Checksum)], left: spot{"Images", folders[r.Folder], r.Filename()}, metadataPending: r.MetadataPending}
		if r.Category == l.texts {
			known.left.Category = "Texts"
		}
		known.version = sources.Object{Size: r.Size, Time: r.Time, VersionTag: r.VersionTag}
		said, err := l.store.DescribedAs(l.Context(), l.pair.ID, r.Key)
		must(l, err)
		before, err := metadata.Decode(said.Metadata)
		must(l, err)
		known.said = words{before.Description, before.Tags}
		t := m.things[r.Asset]
		switch {
		case t == nil:
			l.Errorf("the asset of %s is not there", r.Key)
			continue
		case !t.Trashed && !t.rewritten && t.Content != known.content:
			l.Errorf("%s has arrived as %q, want %q", r.Key, t.Content, known.content)
		case owned[r.Asset] != "":
			l.Errorf("%s and %s are one asset", r.Key, owned[r.Asset])
		}
		t.touched = t.touched && !all[r.Asset].modified.Equal(r.Modified)
		owned[r.Asset] = string(r.Key)
		m.known[string(r.Key)] = known
	}
	for o, err := range l.store.Orphans(l.Context(), l.pair.ID, "") {
		must(l, err)
		known := m.known[string(o.Key)]
		known.missed, known.since = o.Runs, o.Since
		m.known[string(o.Key)] = known
	}
	for id, t := range m.things {
		before := evening.things[id]
		switch {
		case before == nil && !t.Trashed && owned[id] == "":
			if began.holds(t) && evening.holds(t) {
				l.Errorf("%v is there for nothing", t)
			}
			must(l, l.other.Trash(l.Context(), id))
			t.Trashed = true
		case before != nil && t.Trashed && !before.Trashed && began.wants(id) && evening.wants(id):
			l.Errorf("%v is in the trash", before)
		}
	}
	for id, t := range evening.things {
		if m.things[id] == nil {
			l.Errorf("%v is lost", t)
		}
	}
	var err error
	m.cursor, err = l.store.DriftCursor(l.Context(), l.pair)
	must(l, err)
	l.model = m
	l.wantSound()
}

// holds reports whether the source has the object of an asset.
func (m *model) holds(t *thing) bool {
	for key, o := range m.objects {
		if place(key) == t.At && o.content == t.Content {
			return true
		}
	}
	return false
}

// wants reports whether the object of an asset is still at the source.
func (m *model) wants(id string) bool {
	for key, known := range m.known {
		if _, there := m.objects[key]; known.asset == id && there {
			return true
		}
	}
	return false
}

// again syncs once more, when only decisions of users are left.
func (l *life) again(n int, day round) {
	time.Sleep(time.Minute)
	day.limit.AcceptChanges = 1000
	l.model.unread = l.unreadSince()
	f := l.model.foresee(day, time.Now())
	l.notes("  once more: %v", f.summary())
	plan := l.finishes(day, f, true)
	l.model.carryOut(f, l.newAsset)
	l.reports(n, plan, f)
	l.isThere(n)
}

// undoes undoes a run, and verifies that the destination is as it was before; created assets are in
// the trash. The objects that the run listed stay known.
func (l *life) undoes(n int, plan migrate.Plan, f *expected, evening *model) {
	time.Sleep(30 * time.Minute)
	l.notes("  undone")
	undo, err := l.undoRun(l.Context(), l.deps(), plan.Run.ID, false)
	must(l, err)
	for i, err := range l.store.Items(l.Context(), undo.Run.Num, state.ItemFailed, state.ItemConflict, state.ItemRetryScheduled) {
		must(l, err)
		l.Errorf("day %d: not undone: %s %s (%s) %s", n, i.Key, i.Action, i.Reason, i.Error)
	}
	for id, t := range l.model.things {
		if evening.things[id] == nil {
			t.Trashed, evening.things[id] = true, t
		}
	}
	for key, known := range evening.known {
		now := l.model.known[key]
		if f.Items[key].Reason == migrate.ReasonDeletedAtBoth { // there is no asset to restore
			delete(evening.known, key)
			continue
		}
		if now.asset != known.asset {
			continue
		}
		known.missed, known.since = now.missed, now.since
		if f.Items[key].Action == state.Unchanged {
			known.version = now.version
		}
		evening.known[key] = known
	}
	for key, v := range f.Items { // undo itself writes the restored content
		if t := evening.things[evening.known[key].asset]; t != nil && v.Action == state.Replace {
			t.touched = false
		}
	}
	evening.cursor = l.model.cursor
	l.model = evening
	l.isThere(n)
}

// dumps logs the details of a run for a failure.
func (l *life) dumps(plan migrate.Plan) {
	for i, err := range l.store.Items(l.Context(), plan.Run.Num) {
		must(l, err)
		l.Logf("%s: %s", i.Key, line(i.Action, i.Reason, string(i.PreviousKey), i.State)+" "+i.Error)
	}
}
