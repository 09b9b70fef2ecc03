package state

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

// An evening is a snapshot of all data that a state database stores for a pair.
type evening struct {
	receipts, kept, described, orphans, names []string
	sum                                       ReceiptSum
}

func (j *journey) evening() (e evening) {
	j.Helper()
	db := raw(j, j.path)
	for query, into := range map[string]*[]string{
		`SELECT json_array(key, size, time, version_tag, hex(checksum), asset, name, extension, category, folder, url, slot, adopted,
			metadata_pending, modified, run, done_at, images, base) FROM receipts ORDER BY key`: &e.receipts,
		`SELECT json_array(key, content_type, metadata, tags) FROM descriptions ORDER BY key`: &e.kept,
		`SELECT json_array(key, metadata) FROM described ORDER BY key`:                        &e.described,
		`SELECT json_array(key, since, runs) FROM orphans ORDER BY key`:                       &e.orphans,
		`SELECT * FROM (SELECT json_array('former', key, owner) FROM former_keys UNION ALL SELECT json_array('alias', key, owner) FROM aliases
			UNION ALL SELECT json_array('given', url, key) FROM old_urls) ORDER BY 1`: &e.names,
	} {
		rows, err := db.QueryContext(j.Context(), query)
		must(j, err)
		*into, err = scanAll(rows, scanText)
		must(j, err)
	}
	var err error
	e.sum, err = j.SumReceipts(j.Context(), j.pair.ID)
	must(j, err)
	return e
}

func (j *journey) exec(statement string, args ...any) {
	j.Helper()
	_, err := raw(j, j.path).ExecContext(j.Context(), statement, args...)
	must(j, err)
}

// sync has a new run do something to assets that are there, and finishes it.
func (j *journey) sync(items []Item, outcomes []Outcome) Run {
	j.Helper()
	ctx := j.Context()
	run, err := j.Begin(ctx, j.pair, "sync", json.RawMessage("{}"))
	must(j, err)
	var former []Former
	page := Page{Done: true}
	for _, i := range items {
		if of := cmpOr(string(i.PreviousKey), string(i.Key)); i.Action != Create {
			former = append(former, Former{i.Key, sources.Key(of), json.RawMessage(`{"name":"former"}`)})
		}
		page.Items = append(page.Items, staged(string(i.Key)))
	}
	must(j, j.Stage(ctx, run.Num, page))
	must(j, j.Decided(ctx, run.Num, items))
	must(j, j.SaveFormer(ctx, run.Num, j.pair.ID, former))
	must(j, j.FinishPlan(ctx, run.Num, "hash", json.RawMessage("[]")))
	must(j, j.SetRunState(ctx, run.Num, Planned, Applying))
	_, err = j.Take(ctx, run.Num, Next{N: len(items), Time: time.Now()})
	must(j, err)
	must(j, j.Record(ctx, run.Num, j.pair.ID, outcomes))
	must(j, j.FinishSync(ctx, run, Ending{Absent: "absent"}))
	return run
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// changed returns an item of a sync, and its outcome.
func changed(key string, a Action, source string) (Item, Outcome) {
	i := decided(key, a, ItemPlanned)
	was := cmpOr(source, key)
	i.PreviousKey, i.Asset = sources.Key(source), "asset of "+was
	o := Outcome{Key: sources.Key(key), State: ItemDone, Undone: a == Trash}
	if a != Trash {
		o.Receipt, o.InsteadOf = receipt(key, i.Asset), sources.Key(was)
		o.Receipt.Size, o.Receipt.VersionTag, o.Receipt.Modified = 20, "v2", modified
	}
	return i, o
}

// everyAction runs a sync with one item for each action.
func (j *journey) everyAction() Run {
	j.Helper()
	var items []Item
	var outcomes []Outcome
	add := func(i Item, o Outcome) { items, outcomes = append(items, i), append(outcomes, o) }
	add(changed("a/described", UpdateMetadata, ""))
	add(changed("a/new name", Move, "a/moved"))
	add(changed("a/replaced", Replace, ""))
	add(changed("a/trashed", Trash, ""))
	add(decided("b/created", Create, ItemPlanned), done("b/created"))
	return j.sync(items, outcomes)
}

// libraryOf returns a state database after a first run that created objects with and without a
// base, and with and without metadata.
func libraryOf(tb testing.TB) *journey {
	j := begin(tb)
	keys := []string{"a/described", "a/moved", "a/replaced", "a/trashed", "untouched"}
	j.apply(keys...)
	j.take(len(keys))
	var outcomes []Outcome
	for n, key := range keys {
		o := done(key)
		if n%2 == 1 { // in brief
			o.Receipt.Name, o.Receipt.Extension = key[2:], ""
		}
		if n < 3 {
			o.Receipt.Description = &Description{ContentType: "image/jpeg", Metadata: map[string]string{"k": fmt.Sprint(n)}}
		}
		if n == 0 {
			o.Receipt.Time, o.Receipt.Adopted = time.Time{}, true
		}
		if n == 2 {
			o.Receipt.Images = map[string]string{"80": "https://example.com/80.webp"}
		}
		outcomes = append(outcomes, o)
	}
	must(tb, j.record(outcomes...))
	must(tb, j.FinishRun(tb.Context(), j.run.Num))
	for _, key := range keys[:4] {
		j.exec(`INSERT INTO described (pair, key, metadata) VALUES (?, ?, ?)`, j.pair.ID, key, `{"description":"of `+key+`"}`)
	}
	j.exec(`INSERT INTO orphans (pair, key, since, runs) VALUES (?, 'a/trashed', 12345, 2)`, j.pair.ID)
	j.exec(`INSERT INTO former_keys (pair, key, owner) VALUES (?1, 'a/was', 'a/moved'), (?1, 'a/new name', 'a/moved'), (?1, 'a/moved', 'untouched'),
		(?1, 'gone', 'a/new name')`, j.pair.ID)
	j.exec(`INSERT INTO aliases (pair, key, size, time, version_tag, owner, run, checksum)
		SELECT ?1, 'copy', 10, 0, '', key, ?2, checksum FROM receipts WHERE pair = ?1 AND key = 'a/moved'`, j.pair.ID, j.run.Num)
	j.exec(`INSERT INTO old_urls (pair, key, url, comparable) VALUES (?1, 'a/moved', 'https://old/1', '//old/1'), (?1, 'a/new name', '/2', '/2')`, j.pair.ID)
	return j
}

// undone begins an undo of a run and undoes all of it.
func (j *journey) undone(run Run) Run {
	j.Helper()
	ctx := j.Context()
	u, outcomes := j.undoPlanned(run)
	must(j, j.SetRunState(ctx, u.Num, Planned, Applying))
	_, err := j.Take(ctx, u.Num, Next{N: len(outcomes), Time: time.Now()})
	must(j, err)
	must(j, j.Record(ctx, u.Num, j.pair.ID, outcomes))
	must(j, j.FinishUndo(ctx, u))
	return u
}

// undoPlanned begins an undo of a run and plans to undo all of it.
func (j *journey) undoPlanned(run Run) (u Run, outcomes []Outcome) {
	j.Helper()
	ctx := j.Context()
	u, err := j.BeginUndo(ctx, run)
	must(j, err)
	must(j, j.stageUndo(u))
	var keys []sources.Key
	for _, i := range collect(j, j.Items(ctx, u.Num, ItemStaged)) {
		keys = append(keys, i.Key)
	}
	undoings, err := j.Undoings(ctx, u, keys)
	must(j, err)
	inverse := map[Action]Action{"": Trash, Create: Trash, Trash: Create, Move: Move, Replace: Replace, UpdateMetadata: UpdateMetadata}
	var items []Item
	for _, key := range keys {
		i := undoings[key].Item
		i.Action, i.Reason, i.State = inverse[undoings[key].Was], "because", ItemPlanned
		items = append(items, i)
		outcomes = append(outcomes, Outcome{Key: key, State: ItemDone, Undone: true})
	}
	must(j, j.DecideUndo(ctx, u.Num, items))
	must(j, j.FinishPlan(ctx, u.Num, "hash", json.RawMessage("[]")))
	return u, outcomes
}

// TestUndoOfSync verifies that the undo of a sync restores all that the sync changed in the state
// database: receipts and their data, stored metadata, times of deletion, and tallies.
func TestUndoOfSync(t *testing.T) {
	j := libraryOf(t)
	before := j.evening()
	run := j.everyAction()
	if is, err := j.IsUndoable(t.Context(), run); err != nil || !is {
		t.Errorf("undoable: %t (%v)", is, err)
	}
	j.wantSound()
	j.undone(run)
	if diff := cmp.Diff(before, j.evening(), cmp.AllowUnexported(evening{})); diff != "" {
		t.Errorf("after the undo (-evening before +now):\n%s", diff)
	}
	j.wantSound()
	if is, err := j.IsUndoable(t.Context(), run); err != nil || is {
		t.Errorf("undoable once more: %t (%v)", is, err)
	}
	if sum, err := j.SumUndone(t.Context(), run.Num); err != nil || sum.Objects != 5 {
		t.Errorf("taken back: %+v (%v)", sum, err)
	}
}

// TestCreationsWithoutTallies verifies that replaced, moved and updated assets do not count as created,
// also if they are in flight, or if the run has no tallies.
func TestCreationsWithoutTallies(t *testing.T) {
	for name, statement := range map[string]string{
		"in flight":   `UPDATE items SET state = 'retry_scheduled', retry_at = 1 WHERE action IN ('replace', 'move', 'update_metadata')`,
		"not tallied": `UPDATE runs SET tallied = 0`,
	} {
		t.Run(name, func(t *testing.T) {
			j := libraryOf(t)
			run := j.everyAction()
			u, err := j.BeginUndo(t.Context(), run)
			must(t, err)
			j.exec(statement)
			j.exec(`DELETE FROM tallies`)
			reader, err := j.ReadUndo(t.Context(), u)
			must(t, err)
			if all := collect(t, reader.Creations(t.Context())); len(all) != 1 || all[0].key != "b/created" {
				t.Errorf("created: %+v", all)
			}
		})
	}
}

// TestUndoings verifies that an item of an undo has the action of the run, the place of the asset,
// and the former state.
func TestUndoings(t *testing.T) {
	j := libraryOf(t)
	ctx := t.Context()
	was := map[string]Receipt{}
	for _, r := range collect(t, j.Receipts(ctx, j.pair.ID, "")) {
		was["asset of "+string(r.Key)] = r
	}
	u, err := j.BeginUndo(ctx, j.everyAction())
	must(t, err)
	must(t, j.stageUndo(u))
	keys := []string{"a/described", "a/new name", "a/replaced", "a/trashed", "b/created"}
	if got := keysOf(collect(t, j.Items(ctx, u.Num))); !cmp.Equal(keys, got) {
		t.Errorf("items: %q", got)
	}
	undoings, err := j.Undoings(ctx, u, []sources.Key{"a/described", "a/new name", "a/replaced", "a/trashed", "b/created", "untouched"})
	must(t, err)
	for key, action := range map[sources.Key]Action{"a/described": UpdateMetadata, "a/new name": Move, "a/replaced": Replace, "a/trashed": Trash, "b/created": Create} {
		got := undoings[key]
		if got.Was != action || got.Why != "because" || got.State != ItemStaged {
			t.Errorf("%s: %+v", key, got)
		}
		if action == Create {
			if got.Before != nil || got.Former != nil {
				t.Errorf("%s: was %+v", key, got.Before)
			}
			continue
		}
		if diff := cmp.Diff(was[got.Asset], *got.Before); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
		if string(got.Former) != `{"name":"former"}` {
			t.Errorf("%s: asset %s", key, got.Former)
		}
	}
	if said := undoings["a/new name"].Said; said != `{"description":"of a/moved"}` {
		t.Errorf("said: %s", said)
	}
	if len(undoings) != 5 {
		t.Errorf("%d undoings", len(undoings))
	}
	reader, err := j.ReadUndo(ctx, u)
	must(t, err)
	created := map[sources.Key]bool{}
	for _, c := range collect(t, reader.Candidates(ctx)) {
		created[c.Key] = c.Created
	}
	if diff := cmp.Diff(map[sources.Key]bool{"a/described": false, "a/new name": false, "a/replaced": false, "b/created": true}, created); diff != "" {
		t.Errorf("created:\n%s", diff)
	}
	if all := collect(t, reader.Creations(ctx)); len(all) != 1 || all[0].key != "b/created" {
		t.Errorf("created: %+v", all)
	}
	if n, err := reader.CountChanges(ctx); err != nil || n != 4 {
		t.Errorf("%d changes (%v)", n, err)
	}
}

// TestUndoOfSyncAndLaterRuns verifies that items which a later run changed, trashed or created
// again are conflicts until that run is undone.
func TestUndoOfSyncAndLaterRuns(t *testing.T) {
	j := libraryOf(t)
	before := j.evening()
	run := j.everyAction()
	between := j.evening()
	var items []Item
	var outcomes []Outcome
	add := func(i Item, o Outcome) { items, outcomes = append(items, i), append(outcomes, o) }
	i, o := changed("a/new name", Trash, "")
	i.Asset = "asset of a/moved"
	add(i, o)
	add(changed("a/replaced", UpdateMetadata, ""))
	again := done("a/trashed")
	again.Receipt.Asset = "another asset"
	add(decided("a/trashed", Create, ItemPlanned), again)
	i, o = changed("b/moved on", Move, "b/created")
	add(i, o)
	later := j.sync(items, outcomes)
	j.wantSound()

	u, err := j.PlanUndo(t.Context(), run)
	must(t, err)
	must(t, j.stageUndo(u))
	got := map[string]string{}
	for _, i := range collect(t, j.Items(t.Context(), u.Num)) {
		got[string(i.Key)] = string(i.State) + " " + i.Error
	}
	because := "conflict later: " + later.ID
	if diff := cmp.Diff(map[string]string{"a/described": "staged ", "a/new name": because, "a/replaced": because,
		"a/trashed": because, "b/created": because}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	j.undone(later)
	if diff := cmp.Diff(between, j.evening(), cmp.AllowUnexported(evening{})); diff != "" {
		t.Errorf("after the undo of the later one (-want +got):\n%s", diff)
	}
	j.undone(run)
	if diff := cmp.Diff(before, j.evening(), cmp.AllowUnexported(evening{})); diff != "" {
		t.Errorf("after both (-want +got):\n%s", diff)
	}
	j.wantSound()
}

// TestUndoOfSyncModifies verifies that objects which the run changed and which were deleted later
// have their former data, and that the undo sets the time of the last change.
func TestUndoOfSyncModifies(t *testing.T) {
	j := libraryOf(t)
	ctx := t.Context()
	u, err := j.BeginUndo(ctx, j.everyAction())
	must(t, err)
	must(t, j.stageUndo(u))
	items := collect(t, j.Items(ctx, u.Num))
	for n := range items {
		items[n].Action, items[n].Reason, items[n].State = Skip, "gone", ItemSkipped
	}
	items[0].Action, items[0].State = UpdateMetadata, ItemPlanned
	must(t, j.DecideUndo(ctx, u.Num, items))
	must(t, j.FinishPlan(ctx, u.Num, "hash", json.RawMessage("[]")))
	must(t, j.SetRunState(ctx, u.Num, Planned, Applying))
	_, err = j.Take(ctx, u.Num, Next{N: 1, Time: time.Now()})
	must(t, err)
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	must(t, j.Record(ctx, u.Num, j.pair.ID, []Outcome{{Key: items[0].Key, State: ItemDone, Undone: true, Modified: at}}))
	must(t, j.FinishUndo(ctx, u))
	for key, run := range map[string]int64{"a/described": j.run.Num, "a/moved": j.run.Num, "a/replaced": j.run.Num, "a/trashed": j.run.Num} {
		r, err := j.Receipt(ctx, j.pair.ID, sources.Key(key))
		if err != nil || r.Run != run || r.VersionTag != "v1" || r.Modified.Equal(at) != (key == "a/described") {
			t.Errorf("%s: %+v (%v)", key, r, err)
		}
	}
	if sum, err := j.SumReceipts(ctx, j.pair.ID); err != nil || sum.Objects != 5 {
		t.Errorf("receipts: %+v (%v)", sum, err)
	}
	j.wantSound()
}
