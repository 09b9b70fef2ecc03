package report_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/report"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A nights is a journal with syncs that are written into it night by night, as the engine
// would.
type nights struct {
	testing.TB
	store *state.Store
	pair  state.Pair
	rules migrate.Rules
	known map[string]string // assets by key
}

func newNights(t *testing.T) *nights {
	t.Helper()
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	n := &nights{TB: t, store: store, rules: migrate.DefaultRules(), known: map[string]string{}}
	n.rules.Sync = migrate.DefaultSyncRules()
	n.rules.Sync.Delete = "trash"
	n.pair, err = store.Pair(t.Context(), "/photos", "env/ws", "https://example.com")
	must(t, err)
	return n
}

// A wish is an item of a night, and what comes of it.
type wish struct {
	key    string
	action state.Action
	reason migrate.Reason
	ends   state.ItemState // done unless it says otherwise
	gone   bool
	origin string
}

func (w wish) item() state.Item {
	i := state.Item{Object: sources.Object{Key: sources.Key(w.key), Size: 10}, Action: w.action, Reason: string(w.reason), State: state.ItemPlanned, Category: "c", Name: w.key, PreviousKey: sources.Key(w.origin)}
	switch {
	case w.action == state.Skip || w.action == state.Unchanged:
		i.State = state.ItemSkipped
	case w.action == state.Conflict:
		i.State = state.ItemConflict
	}
	if w.gone {
		i.Obstacle = migrate.ObstacleAbsent
	}
	return i
}

// sync writes a night: how many objects were unchanged, and what else there was.
func (n *nights) sync(unchanged int64, stopped string, wishes ...wish) state.Run {
	n.Helper()
	ctx := n.Context()
	rules, err := json.Marshal(n.rules)
	must(n, err)
	run, err := n.store.Begin(ctx, n.pair, "sync", rules)
	must(n, err)
	page := state.Page{Done: true, Unchanged: unchanged, UnchangedBytes: 10 * unchanged}
	var items []state.Item
	var former []state.Former
	for _, w := range wishes {
		i := w.item()
		i.Asset = n.known[cmp.Or(w.origin, w.key)]
		items = append(items, i)
		page.Items = append(page.Items, state.Item{Object: sources.Object{Key: i.Key, Size: i.Size, Obstacle: i.Obstacle}})
		switch w.action {
		case state.Replace, state.UpdateMetadata, state.Move, state.Trash:
			former = append(former, state.Former{Key: sources.Key(w.key), Of: sources.Key(cmp.Or(w.origin, w.key)), Asset: json.RawMessage("{}")})
		}
	}
	slices.SortFunc(page.Items, func(a, b state.Item) int { return cmp.Compare(a.Key, b.Key) })
	must(n, n.store.Stage(ctx, run.Num, page))
	must(n, n.store.Decided(ctx, run.Num, items))
	must(n, n.store.SaveFormer(ctx, run.Num, n.pair.ID, former))
	must(n, n.store.FinishPlan(ctx, run.Num, "hash", json.RawMessage("[]")))
	if stopped != "" {
		must(n, n.store.NoteSync(ctx, run.Num, stopped, ""))
	}
	must(n, n.store.SetRunState(ctx, run.Num, state.Planned, state.Applying))
	n.carryOut(run, wishes)
	must(n, n.store.FinishSync(ctx, run, state.Ending{Absent: string(migrate.ObstacleAbsent), Touched: string(migrate.ReasonOnlyVersionChanged)}))
	run, err = n.store.Run(ctx, run.ID)
	must(n, err)
	return run
}

func (n *nights) carryOut(run state.Run, wishes []wish) {
	n.Helper()
	_, err := n.store.Take(n.Context(), run.Num, state.Next{N: 1000, Time: time.Now()})
	must(n, err)
	for _, w := range wishes {
		i := w.item()
		if i.State != state.ItemPlanned {
			continue
		}
		o := state.Outcome{Key: sources.Key(w.key), State: cmp.Or(w.ends, state.ItemDone)}
		switch {
		case o.State != state.ItemDone:
			o.Error, o.Class = "POST /assets: 400 Bad Request", "permanent"
		case w.action == state.Trash:
			o.Undone = true
		default:
			of := cmp.Or(w.origin, w.key)
			if n.known[of] != "" {
				o.InsteadOf = sources.Key(of)
			}
			asset := cmp.Or(n.known[of], fmt.Sprintf("asset-%d", len(n.known)))
			delete(n.known, of)
			n.known[w.key] = asset
			o.Receipt = &state.Receipt{Object: sources.Object{Key: sources.Key(w.key), Size: 10}, Checksum: make([]byte, 32), Asset: asset, Name: w.key, Category: "c", URL: "https://example.com/" + asset}
		}
		must(n, n.store.Record(n.Context(), run.Num, n.pair.ID, []state.Outcome{o}))
	}
}

func (n *nights) read(run state.Run) report.Report {
	n.Helper()
	r, err := report.Read(n.Context(), n.store, run)
	must(n, err)
	return r
}

func create(key string) wish { return wish{key: key, action: state.Create, reason: migrate.ReasonNew} }

func fails(key string) wish {
	w := create(key)
	w.ends = state.ItemFailed
	return w
}

// fullNight is a first sync and one in which everything happens.
func (n *nights) fullNight() (first, second state.Run) {
	first = n.sync(0, "", create("a"), create("b"), create("c"), create("d"), create("e"), create("f"), create("h"), fails("w"), fails("x"),
		wish{key: "k", action: state.Conflict, reason: migrate.ReasonNameExists})
	second = n.sync(1, "", create("new"), create("w"), fails("x"),
		wish{key: "a", action: state.Replace, reason: migrate.ReasonContentChanged},
		wish{key: "b", action: state.UpdateMetadata, reason: migrate.ReasonMetadataChanged},
		wish{key: "folder/c", origin: "c", action: state.Move, reason: migrate.ReasonMoved},
		wish{key: "d", action: state.Skip, reason: migrate.ReasonGracePeriod, gone: true},
		wish{key: "e", action: state.Trash, reason: migrate.ReasonGracePeriodOver, gone: true},
		wish{key: "f", action: state.Skip, reason: migrate.ReasonAssetDeleted},
		wish{key: "k", action: state.Conflict, reason: migrate.ReasonNameExists})
	return first, second
}

// A night is told against the one before: each object is in one place, and the main sums
// are set beside each other.
func TestNight(t *testing.T) {
	n := newNights(t)
	first, second := n.fullNight()
	r := n.read(second)
	if !r.Sum.Closes || r.Sum.Listed.Objects != 11 {
		t.Errorf("the sum: %+v", r.Sum)
	}
	if !strings.HasPrefix(r.Sum.Said, "Listed or known before 11 objects") {
		t.Errorf("it says: %s", r.Sum.Said)
	}
	got := r.Night
	if got.Before == nil || got.Before.Run != first.ID || got.Quiet || got.Stopped != "" {
		t.Fatalf("the night: %+v", got)
	}
	measures := map[string][2]int64{}
	for _, m := range got.Measures {
		measures[m.Name] = [2]int64{m.Now, *m.Before}
	}
	if diff := gocmp.Diff(map[string][2]int64{"objects": {11, 10}, "bytes": {110, 100}, "created": {2, 7}, "adopted": {}, "replaced": {1, 0},
		"described": {1, 0}, "moved": {1, 0}, "trashed": {1, 0}, "gone": {2, 0}, "failing": {2, 3}}, measures); diff != "" {
		t.Errorf("measures (-want +got):\n%s", diff)
	}
	changes := map[string][]report.Changed{}
	for _, c := range slices.Concat(got.Changes, got.Drift) {
		changes[c.What] = c.First
	}
	if diff := gocmp.Diff(map[string][]report.Changed{
		"created": {{Key: "new"}, {Key: "w"}}, "replaced": {{Key: "a"}}, "described": {{Key: "b"}}, "moved": {{Key: "folder/c", From: "c"}},
		"trashed": {{Key: "e"}}, string(migrate.ReasonAssetDeleted): {{Key: "f"}},
	}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if f := got.Failing; f.Objects != 2 || len(f.First) != 2 || f.First[0].Key != "x" || f.First[0].Runs != 2 || !f.First[0].Since.Equal(first.StartedAt) {
		t.Errorf("failing: %+v", f)
	}
	if c := got.Recovered; c == nil || c.Objects != 1 || c.First[0].Key != "w" {
		t.Errorf("recovered: %+v", c)
	}
	for _, a := range r.Alterations {
		if a.Objects != 1 || a.Action == "moved" && !slices.Equal(a.Moves, []report.Move{{From: "c", To: "folder/c"}}) {
			t.Errorf("altered: %+v", a)
		}
	}
	if len(r.Alterations) != 4 || r.Undo.Created.Objects != 2 || r.Undo.Changed.Objects != 4 || r.Undo.Command == "" {
		t.Errorf("%d alterations, and to undo them: %+v", len(r.Alterations), r.Undo)
	}
}

// What is gone is told with the day from which its asset may be trashed, and as new once.
func TestGone(t *testing.T) {
	n := newNights(t)
	_, second := n.fullNight()
	g := n.read(second).Night.Gone
	until := second.ListedAt.Add(migrate.DefaultGracePeriod)
	if g == nil || g.Objects != 2 || g.New.Objects != 2 || g.Stay.Objects != 1 || g.GracePeriod.Objects != 1 || !g.TrashedFrom.Equal(until) {
		t.Fatalf("gone: %+v", g)
	}
	third := n.sync(5, "", wish{key: "d", action: state.Skip, reason: migrate.ReasonGracePeriod, gone: true},
		wish{key: "new", action: state.Skip, reason: migrate.ReasonDeletedAtSource, gone: true})
	g = n.read(third).Night.Gone
	if g.Objects != 2 || g.New.Objects != 1 || g.GracePeriod.Objects != 1 || !g.TrashedFrom.Equal(until) {
		t.Errorf("a night later: %+v", g)
	}
	if g.First[0].Key != "new" || !g.First[0].New || g.First[1].Key != "d" || !g.First[1].Since.Equal(second.ListedAt) {
		t.Errorf("a night later: %+v", g.First)
	}
	if got := n.read(second).Night.Gone.New.Objects; got != 2 {
		t.Errorf("of the night before, %d are new by now", got)
	}
}

// Nights without work, with orphans and with a guard have verdicts of their own.
func TestVerdictOfNights(t *testing.T) {
	n := newNights(t)
	n.rules.Sync.Delete = "never"
	n.sync(0, "", create("a"), create("b"))
	verdict := func(run state.Run, kind report.Kind, says string) {
		t.Helper()
		r := n.read(run)
		if r.Verdict.Kind != kind || !strings.Contains(r.Verdict.Sentence, says) {
			t.Errorf("got %s: %s\nwant %s: …%s…", r.Verdict.Kind, r.Verdict.Sentence, kind, says)
		}
	}
	verdict(n.sync(2, ""), report.Complete, "Nothing changed: 2 objects are as the sync before left them. Everything arrived by its receipts.")
	orphaned := wish{key: "b", action: state.Skip, reason: migrate.ReasonDeletedAtSource, gone: true}
	verdict(n.sync(1, "", orphaned), report.Complete, "Still there: 1 asset whose object is gone from the source.")
	quiet := n.sync(1, "", orphaned)
	verdict(quiet, report.Complete, "Nothing changed: 2 objects are as the sync before left them. Still there: 1 asset whose object is gone")
	if !n.read(quiet).Night.Quiet {
		t.Error("a night with an orphan of the night before is not quiet")
	}
	verdict(n.sync(1, "9 assets were to be trashed, and at most 1 may be", orphaned), report.Stopped, "A guard held a part of the sync back: 9 assets")
	verdict(n.sync(1, "", wish{key: "a", action: state.Conflict, reason: migrate.ReasonAssetEdited}, orphaned), report.Incomplete, "1 in conflict")
	if r := n.read(n.sync(0, "why", fails("x"))); !strings.Contains(r.Verdict.Sentence, "1 failed") || r.Verdict.Kind != report.Stopped {
		t.Errorf("a guard hides failures: %+v", r.Verdict)
	}
}

// Each form of the report tells the night.
func TestFormsOfNight(t *testing.T) {
	n := newNights(t)
	_, second := n.fullNight()
	r := n.read(second)
	var text, page, list bytes.Buffer
	must(t, r.WriteText(&text, time.UTC))
	must(t, r.WriteHTML(t.Context(), &page, time.UTC))
	choice, err := report.ParseChoice("moved")
	must(t, err)
	must(t, r.WriteList(t.Context(), &list, "csv", choice, nil))
	for form, says := range map[*bytes.Buffer][]string{
		&text: {"Against the sync before, run ", "New: 2 objects, 20 B", "    c\n      -> folder/c\n", "↓ 1", "Gone from the source: 2 objects, 2 of them new",
			"In quarantine of these: 1.", "in 2 runs in a row", "Came through again: 1 object", "What people did at the destination"},
		&page: {`<section id="night"`, "Described anew", "somebody", `<data value="-1">↓ 1</data>`},
		&list: {",origin,asset_name\n", ",1,c,\n"},
	} {
		for _, want := range says {
			if !strings.Contains(form.String(), want) {
				t.Errorf("%q is missing in:\n%s", want, form)
			}
		}
	}
}

// Of a run whose items were pruned the sums stay, and it says so.
func TestPrunedNight(t *testing.T) {
	n := newNights(t)
	_, second := n.fullNight()
	whole := n.read(second)
	n.sync(2, "")
	_, err := n.store.Prune(t.Context(), time.Now().Add(time.Hour))
	must(t, err)
	second, err = n.store.Run(t.Context(), second.ID)
	must(t, err)
	r := n.read(second)
	if diff := gocmp.Diff(whole.Sum.Parts, r.Sum.Parts); diff != "" || !r.Sum.Closes || r.Sum.Listed != whole.Sum.Listed {
		t.Errorf("the sum is another one: %+v\n%s", r.Sum, diff)
	}
	if !strings.Contains(r.Verdict.Sentence, "Its items were pruned") || r.Undo.Command != "" || r.Run.PrunedAt == nil || r.Night.Gone != nil {
		t.Errorf("verdict: %+v, undo: %+v, night: %+v", r.Verdict, r.Undo, r.Night)
	}
	for _, o := range r.LeftOut {
		if o.Objects != 1 {
			t.Errorf("left out: %+v", r.LeftOut)
		}
	}
	choice, err := report.ParseChoice("")
	must(t, err)
	if err := r.WriteList(t.Context(), &bytes.Buffer{}, "csv", choice, nil); err != report.ErrPruned {
		t.Errorf("a list of what is not there: %v", err)
	}
	for _, write := range []func() error{
		func() error { return r.WriteText(&bytes.Buffer{}, time.UTC) },
		func() error { return r.WriteHTML(t.Context(), &bytes.Buffer{}, time.UTC) },
		func() error { return r.WriteFolders(t.Context(), &bytes.Buffer{}, "csv", nil) },
	} {
		must(t, write())
	}
}
