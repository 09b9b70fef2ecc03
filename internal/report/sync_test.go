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

// A history of syncs in a state database, written as the engine does it.
type syncs struct {
	testing.TB
	store *state.Store
	pair  state.Pair
	rules migrate.Rules
	known map[string]string // assets by key
}

func newSyncs(t *testing.T) *syncs {
	t.Helper()
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	n := &syncs{TB: t, store: store, rules: migrate.DefaultRules(), known: map[string]string{}}
	n.rules.Sync = migrate.DefaultSyncRules()
	n.rules.Sync.Delete = "trash"
	n.pair, err = store.Pair(t.Context(), "/photos", "env/ws", "https://example.com")
	must(t, err)
	return n
}

// A wish is an item of a sync, and its result.
type wish struct {
	key         string
	action      state.Action
	reason      migrate.Reason
	ends        state.ItemState // done by default
	deleted     bool            // at the source
	previousKey string
}

func (w wish) item() state.Item {
	i := state.Item{Object: sources.Object{Key: sources.Key(w.key), Size: 10}, Action: w.action, Reason: string(w.reason), State: state.ItemPlanned, Category: "c", Name: w.key, PreviousKey: sources.Key(w.previousKey)}
	switch {
	case w.action == state.Skip || w.action == state.Unchanged:
		i.State = state.ItemSkipped
	case w.action == state.Conflict:
		i.State = state.ItemConflict
	}
	if w.deleted {
		i.Obstacle = migrate.ObstacleAbsent
	}
	return i
}

// sync writes a sync with a number of unchanged objects, and other items.
func (n *syncs) sync(unchanged int64, stopped string, wishes ...wish) state.Run {
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
		i.Asset = n.known[cmp.Or(w.previousKey, w.key)]
		items = append(items, i)
		page.Items = append(page.Items, state.Item{Object: sources.Object{Key: i.Key, Size: i.Size, Obstacle: i.Obstacle}})
		switch w.action {
		case state.Replace, state.UpdateMetadata, state.Move, state.Trash:
			former = append(former, state.Former{Key: sources.Key(w.key), Of: sources.Key(cmp.Or(w.previousKey, w.key)), Asset: json.RawMessage("{}")})
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

func (n *syncs) carryOut(run state.Run, wishes []wish) {
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
			of := cmp.Or(w.previousKey, w.key)
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

func (n *syncs) read(run state.Run) report.Report {
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

// everything writes a first sync, and a second one with every kind of change.
func (n *syncs) everything() (first, second state.Run) {
	first = n.sync(0, "", create("a"), create("b"), create("c"), create("d"), create("e"), create("f"), create("h"), fails("w"), fails("x"),
		wish{key: "k", action: state.Conflict, reason: migrate.ReasonNameExists})
	second = n.sync(1, "", create("new"), create("w"), fails("x"),
		wish{key: "a", action: state.Replace, reason: migrate.ReasonContentChanged},
		wish{key: "b", action: state.UpdateMetadata, reason: migrate.ReasonMetadataChanged},
		wish{key: "folder/c", previousKey: "c", action: state.Move, reason: migrate.ReasonMoved},
		wish{key: "d", action: state.Skip, reason: migrate.ReasonGracePeriod, deleted: true},
		wish{key: "e", action: state.Trash, reason: migrate.ReasonGracePeriodOver, deleted: true},
		wish{key: "f", action: state.Skip, reason: migrate.ReasonAssetDeleted},
		wish{key: "k", action: state.Conflict, reason: migrate.ReasonNameExists})
	return first, second
}

// A sync is compared with the previous one: each object is in one place, and the main counts of
// both are in the trend.
func TestSync(t *testing.T) {
	n := newSyncs(t)
	first, second := n.everything()
	r := n.read(second)
	if !r.Results.Accounted || r.Results.Listed.Objects != 11 {
		t.Errorf("the results: %+v", r.Results)
	}
	if !strings.HasPrefix(r.Results.Message, "All 11 objects, 110 B, are accounted for: 2 created, ") {
		t.Errorf("it says: %s", r.Results.Message)
	}
	got := r.Sync
	if got.Previous == nil || got.Previous.Run != first.ID || got.Unchanged || got.Stopped != "" {
		t.Fatalf("the sync: %+v", got)
	}
	measures := map[string][2]int64{}
	for _, m := range got.Trend {
		measures[m.Name] = [2]int64{m.Now, *m.Before}
	}
	if diff := gocmp.Diff(map[string][2]int64{"objects": {11, 10}, "bytes": {110, 100}, "created": {2, 7}, "adopted": {}, "replaced": {1, 0},
		"metadata_updated": {1, 0}, "moved": {1, 0}, "trashed": {1, 0}, "deleted_at_source": {2, 0}, "failing": {2, 3}}, measures); diff != "" {
		t.Errorf("measures (-want +got):\n%s", diff)
	}
	changes := map[string][]report.Changed{}
	for _, c := range slices.Concat(got.Changes, got.Drift) {
		changes[c.State+c.Reason] = c.First
	}
	if diff := gocmp.Diff(map[string][]report.Changed{
		"created": {{Key: "new"}, {Key: "w"}}, "replaced": {{Key: "a"}}, "metadata_updated": {{Key: "b"}}, "moved": {{Key: "folder/c", PreviousKey: "c"}},
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
		if a.Objects != 1 || a.State == "moved" && !slices.Equal(a.Moves, []report.Move{{From: "c", To: "folder/c"}}) {
			t.Errorf("altered: %+v", a)
		}
	}
	if len(r.Alterations) != 4 || r.Undo.Created.Objects != 2 || r.Undo.Changed.Objects != 4 || r.Undo.Command == "" {
		t.Errorf("%d alterations, and to undo them: %+v", len(r.Alterations), r.Undo)
	}
}

// Objects that were deleted at the source have the end of their grace period, and are new once.
func TestDeletedAtSource(t *testing.T) {
	n := newSyncs(t)
	_, second := n.everything()
	g := n.read(second).Sync.Deleted
	until := second.ListedAt.Add(migrate.DefaultGracePeriod)
	if g == nil || g.Objects != 2 || g.New.Objects != 2 || g.Kept.Objects != 1 || g.InGrace.Objects != 1 || !g.GraceEnds.Equal(until) {
		t.Fatalf("deleted: %+v", g)
	}
	third := n.sync(5, "", wish{key: "d", action: state.Skip, reason: migrate.ReasonGracePeriod, deleted: true},
		wish{key: "new", action: state.Skip, reason: migrate.ReasonDeletedAtSource, deleted: true})
	g = n.read(third).Sync.Deleted
	if g.Objects != 2 || g.New.Objects != 1 || g.InGrace.Objects != 1 || !g.GraceEnds.Equal(until) {
		t.Errorf("a sync later: %+v", g)
	}
	if g.First[0].Key != "new" || !g.First[0].New || g.First[1].Key != "d" || !g.First[1].Since.Equal(second.ListedAt) {
		t.Errorf("a sync later: %+v", g.First)
	}
	if got := n.read(second).Sync.Deleted.New.Objects; got != 2 {
		t.Errorf("of the previous sync, %d are new now", got)
	}
}

// Syncs without changes, with deleted objects and with safety checks have verdicts of their own.
func TestVerdictOfSyncs(t *testing.T) {
	n := newSyncs(t)
	n.rules.Sync.Delete = "never"
	n.sync(0, "", create("a"), create("b"))
	verdict := func(run state.Run, kind report.Kind, says string) {
		t.Helper()
		r := n.read(run)
		if r.Verdict.Kind != kind || !strings.Contains(r.Verdict.Title+". "+r.Verdict.Message, says) {
			t.Errorf("got %s: %s\nwant %s: …%s…", r.Verdict.Kind, r.Verdict.Title+". "+r.Verdict.Message, kind, says)
		}
	}
	verdict(n.sync(2, ""), report.Complete, "Nothing changed. Not verified yet.")
	orphaned := wish{key: "b", action: state.Skip, reason: migrate.ReasonDeletedAtSource, deleted: true}
	verdict(n.sync(1, "", orphaned), report.Complete, "Complete. Not verified yet. Deleted at the source, asset kept: 1 object.")
	unchanged := n.sync(1, "", orphaned)
	verdict(unchanged, report.Complete, "Nothing changed. Not verified yet. Deleted at the source, asset kept: 1 object.")
	if !n.read(unchanged).Sync.Unchanged {
		t.Error("a sync with an object that was deleted before has changes")
	}
	verdict(n.sync(1, "9 assets were to be trashed, and at most 1 may be", orphaned), report.Stopped, "Partly stopped by a safety check. 9 assets")
	verdict(n.sync(1, "", wish{key: "a", action: state.Conflict, reason: migrate.ReasonAssetEdited}, orphaned), report.Incomplete, "1 in conflict")
	if r := n.read(n.sync(0, "why", fails("x"))); !strings.Contains(r.Verdict.Message, "1 failed") || r.Verdict.Kind != report.Stopped {
		t.Errorf("a safety check hides failures: %+v", r.Verdict)
	}
}

// Each form of the report contains the changes of a sync.
func TestFormsOfSync(t *testing.T) {
	n := newSyncs(t)
	_, second := n.everything()
	r := n.read(second)
	var text, page, list bytes.Buffer
	must(t, r.WriteText(&text, time.UTC))
	must(t, r.WriteHTML(t.Context(), &page, time.UTC))
	choice, err := report.ParseChoice("moved")
	must(t, err)
	must(t, r.WriteList(t.Context(), &list, "csv", choice, nil))
	for form, says := range map[*bytes.Buffer][]string{
		&text: {"Trend\n  Previous sync: run ", "Created: 2 objects, 20 B", "    c\n      -> folder/c\n", "↓ 1", "Deleted at the source: 2 objects, 2 new",
			"Within the grace period: 1.", "2 runs in a row", "Recovered: 1 object", "Changed at the destination"},
		&page: {`<section id="trend"`, "Metadata updated", "Changed at the destination", `<data value="-1">↓ 1</data>`},
		&list: {",previous_key,asset_name\n", ",1,c,\n"},
	} {
		for _, want := range says {
			if !strings.Contains(form.String(), want) {
				t.Errorf("%q is missing in:\n%s", want, form)
			}
		}
	}
}

// The report of a pruned run has its counts, and says that its items were pruned.
func TestPrunedSync(t *testing.T) {
	n := newSyncs(t)
	_, second := n.everything()
	whole := n.read(second)
	n.sync(2, "")
	_, err := n.store.Prune(t.Context(), time.Now().Add(time.Hour))
	must(t, err)
	second, err = n.store.Run(t.Context(), second.ID)
	must(t, err)
	r := n.read(second)
	if diff := gocmp.Diff(whole.Results.States, r.Results.States); diff != "" || !r.Results.Accounted || r.Results.Listed != whole.Results.Listed {
		t.Errorf("the results differ: %+v\n%s", r.Results, diff)
	}
	if !strings.Contains(r.Verdict.Message, "items of this run were pruned") || r.Undo.Command != "" || r.Run.PrunedAt == nil || r.Sync.Deleted != nil {
		t.Errorf("verdict: %+v, undo: %+v, sync: %+v", r.Verdict, r.Undo, r.Sync)
	}
	for _, o := range r.Skipped {
		if o.Objects != 1 {
			t.Errorf("skipped: %+v", r.Skipped)
		}
	}
	choice, err := report.ParseChoice("")
	must(t, err)
	if err := r.WriteList(t.Context(), &bytes.Buffer{}, "csv", choice, nil); err != report.ErrPruned {
		t.Errorf("a list of pruned items: %v", err)
	}
	for _, write := range []func() error{
		func() error { return r.WriteText(&bytes.Buffer{}, time.UTC) },
		func() error { return r.WriteHTML(t.Context(), &bytes.Buffer{}, time.UTC) },
		func() error { return r.WriteFolders(t.Context(), &bytes.Buffer{}, "csv", nil) },
	} {
		must(t, write())
	}
}
