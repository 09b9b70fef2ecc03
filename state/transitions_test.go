package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

var everyItemState = []ItemState{noItem, ItemStaged, ItemPlanned, ItemSending, ItemSent, ItemDone, ItemRetryScheduled, ItemFailed, ItemRetriesExhausted,
	ItemChanged, ItemSkipped, ItemConflict, ItemUnconfirmed}

// A trigger makes an event happen to an item.
type trigger struct {
	name    string
	event   event
	aims    bool // the caller chooses the resulting state
	refuses bool // with ErrConflict where it is impossible; all others leave the item out
	do      func(j *journey, key string, to ItemState) error
}

var triggers = []trigger{
	{"Stage", onStage, true, false, func(j *journey, key string, to ItemState) error {
		return j.Stage(j.Context(), j.run.Num, Page{Items: []Item{fitting(key, to)}})
	}},
	{"AddDrift", onAddDrift, true, false, func(j *journey, key string, to ItemState) error {
		return j.AddDrift(j.Context(), j.run.Num, []Item{fitting(key, to)})
	}},
	{"StageUndo", onStageUndo, true, false, func(j *journey, key string, to ItemState) error {
		return j.StageUndo(j.Context(), j.run.Num, []Item{fitting(key, to)})
	}},
	{"FinishStagingUndo", onStageUndo, false, false, func(j *journey, key string, to ItemState) error {
		var err error
		j.run, err = j.Begin(j.Context(), j.pair, "migrate", json.RawMessage("{}"))
		must(j, err)
		undone := j.run
		j.apply(key)
		j.take(1)
		must(j, j.record(done(key)))
		must(j, j.FinishRun(j.Context(), undone.Num))
		if to == ItemConflict { // a later run changed its asset
			j.sync([]Item{decided(key, Replace, ItemPlanned)}, []Outcome{{Key: sources.Key(key), State: ItemDone, Receipt: receipt(key, "asset of "+key), InsteadOf: sources.Key(key)}})
		}
		j.run, err = j.BeginUndo(j.Context(), undone)
		must(j, err)
		if to == ItemPlanned {
			return j.StageUndo(j.Context(), j.run.Num, []Item{fitting(key, to)})
		}
		return j.stageUndo(j.run)
	}},
	{"Decided", onDecided, true, true, func(j *journey, key string, to ItemState) error {
		return j.Decided(j.Context(), j.run.Num, []Item{fitting(key, to)})
	}},
	{"DecideUndo", onDecided, true, true, func(j *journey, key string, to ItemState) error {
		return j.DecideUndo(j.Context(), j.run.Num, []Item{fitting(key, to)})
	}},
	{"DecidedMove", onDecidedMove, false, false, func(j *journey, key string, _ ItemState) error {
		j.put("moved", situation{ItemStaged, 0})
		i := decided("moved", Move, ItemPlanned)
		i.PreviousKey = sources.Key(key)
		return j.Decided(j.Context(), j.run.Num, []Item{i})
	}},
	{"Take", onTake, false, false, func(j *journey, _ string, _ ItemState) error {
		_, err := j.Take(j.Context(), j.run.Num, Next{N: 9, Time: modified})
		return err
	}},
	{"Advance", onTake, false, false, func(j *journey, _ string, _ ItemState) error {
		_, err := j.Advance(j.Context(), j.run.Num, j.pair.ID, nil, Next{N: 9, Time: modified})
		return err
	}},
	{"TakeDue", onTakeDue, false, false, func(j *journey, _ string, _ ItemState) error {
		_, err := j.TakeDue(j.Context(), j.run.Num, modified, 9, modified)
		return err
	}},
	{"Release", onRelease, false, true, func(j *journey, key string, _ ItemState) error {
		return j.Release(j.Context(), j.run.Num, []sources.Key{sources.Key(key)})
	}},
	{"Interrupted", onInterrupted, false, false, func(j *journey, _ string, _ ItemState) error {
		_, err := j.Interrupted(j.Context(), j.run.Num)
		return err
	}},
	{"Resend", onResend, false, true, func(j *journey, key string, _ ItemState) error {
		return j.Resend(j.Context(), j.run.Num, []sources.Key{sources.Key(key)}, modified)
	}},
	{"Record", onRecord, true, true, func(j *journey, key string, to ItemState) error {
		return j.record(towards(key, to))
	}},
	{"NextVersion", onNextVersion, true, true, func(j *journey, key string, to ItemState) error {
		if err := onNextVersion.leadsTo(to); err != nil {
			return err
		}
		j.force(fmt.Sprintf(`INSERT OR REPLACE INTO versions (run, key, num, size, time, version_tag, version) VALUES (%d, '%s', 1, 1, 0, '', 'old')`, j.run.Num, key))
		o := towards(key, ItemDone)
		if o.Version = 1; to == ItemSending {
			o.NextIntent = modified
		}
		return j.record(o)
	}},
	{"Relist", onRelist, false, false, func(j *journey, _ string, _ ItemState) error { return j.Relist(j.Context(), j.run.Num) }},
	{"Supersede", onSupersede, false, false, func(j *journey, _ string, _ ItemState) error { return j.within(dropUndone) }},
	{"GiveUp", onGiveUp, false, false, func(j *journey, _ string, _ ItemState) error { return j.within(failScheduled) }},
	{"Begin", onBegin, false, false, func(j *journey, _ string, _ ItemState) error {
		_, err := j.Begin(j.Context(), j.pair, "plan", json.RawMessage("{}"))
		return err
	}},
}

// within takes a step of a larger change.
func (j *journey) within(step func(context.Context, *sql.Tx, int64) error) error {
	return j.Write(j.Context(), "take a step", func(ctx context.Context, tx *sql.Tx) error { return step(ctx, tx, j.run.Num) })
}

// A situation is the state of an item with the number of its attempts.
type situation struct {
	state    ItemState
	attempts int
}

// situations lists all combinations that can occur. A failed item may have no attempts, because the
// plan decided so.
var situations = []situation{{noItem, 0}, {ItemStaged, 0}, {ItemPlanned, 0}, {ItemSkipped, 0}, {ItemConflict, 0}, {ItemFailed, 0}, {ItemRetriesExhausted, 0}, {ItemChanged, 0},
	{ItemPlanned, 1}, {ItemSending, 1}, {ItemSent, 1}, {ItemDone, 1}, {ItemRetryScheduled, 1}, {ItemFailed, 1}, {ItemChanged, 1}, {ItemUnconfirmed, 1}}

// TestTransitions triggers every event in every situation, with every target state.
func TestTransitions(t *testing.T) {
	for _, tr := range triggers {
		t.Run(tr.name, func(t *testing.T) {
			j, row := begin(t), transitions[tr.event]
			j.force(`PRAGMA synchronous = OFF`) // it is not about durability
			for _, from := range situations {
				if tr.event == onStageUndo && !tr.aims && from.state != noItem {
					continue // its run is new
				}
				targets := tr.targets()
				j.reset(tr.event.usualRun(), from, targets...)
				for _, to := range targets {
					key := keyFor(to)
					possible := slices.Contains(row.from, from.state) && slices.Contains(row.to, to) && (from.state == noItem || j.meets(key, row.when))
					j.expect(tr, key, from, to, possible)
				}
			}
		})
	}
}

// TestTransitionsNeedTheirRun verifies that an event which needs a run in one state is refused in
// all others.
func TestTransitionsNeedTheirRun(t *testing.T) {
	for _, tr := range triggers {
		row := transitions[tr.event]
		if row.run == "" || tr.event == onStageUndo && !tr.aims {
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			j := begin(t)
			for _, run := range []RunState{Scanning, Planning, Planned, Applying, Finished, Superseded} {
				if run == row.run {
					continue
				}
				from := situation{row.from[0], 0}
				j.reset(run, from, row.to[0])
				if err := j.expect(tr, keyFor(row.to[0]), from, row.to[0], false); !errors.Is(err, ErrConflict) {
					t.Errorf("in a run that is %s: got %v, want ErrConflict", run, err)
				}
			}
		})
	}
}

// TestTransitionsByState states the table of transitions a second time, by state. The methods use
// the table itself, so no other test would find a mistake in it.
func TestTransitionsByState(t *testing.T) {
	type ways struct{ into, out string }
	got := map[ItemState]ways{}
	for e, row := range transitions {
		n := slices.IndexFunc(triggers, func(tr trigger) bool { return tr.event == event(e) })
		if n < 0 {
			t.Fatalf("event %d is not tried", e)
		}
		for _, st := range row.to {
			got[st] = ways{got[st].into + " " + triggers[n].name, got[st].out}
		}
		for _, st := range row.from {
			got[st] = ways{got[st].into, got[st].out + " " + triggers[n].name}
		}
	}
	want := map[ItemState]ways{
		noItem:               {" DecidedMove Relist Supersede Begin", " Stage AddDrift StageUndo"},
		ItemStaged:           {" Stage AddDrift StageUndo", " Decided DecidedMove Relist Supersede Begin"},
		ItemPlanned:          {" Stage AddDrift StageUndo Decided Release NextVersion", " Decided DecidedMove Take Relist Supersede Begin"},
		ItemSkipped:          {" Stage AddDrift Decided", " Decided DecidedMove Relist Begin"},
		ItemConflict:         {" Stage AddDrift StageUndo Decided", " Decided DecidedMove Relist Begin"},
		ItemRetriesExhausted: {" Stage AddDrift Decided", " Decided DecidedMove Relist Begin"},
		ItemFailed:           {" Stage AddDrift Decided Record GiveUp", " Decided DecidedMove Relist Begin"},
		ItemChanged:          {" Stage AddDrift Decided Record", " Decided DecidedMove Relist Begin"},
		ItemSending:          {" Take TakeDue Resend NextVersion", " Release Interrupted Record NextVersion"},
		ItemSent:             {" Record", " Record"},
		ItemUnconfirmed:      {" Interrupted Record", " Resend Record NextVersion"},
		ItemRetryScheduled:   {" Record", " TakeDue Relist GiveUp"},
		ItemDone:             {" Record", ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ways{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// targets are the states towards which an event can be made to happen.
func (tr trigger) targets() []ItemState {
	if tr.aims {
		return everyItemState[1:]
	}
	return transitions[tr.event].to
}

// usualRun returns a state of the run in which an event happens.
func (e event) usualRun() RunState {
	switch {
	case transitions[e].run != "":
		return transitions[e].run
	case e == onBegin:
		return Planned
	}
	return Applying
}

// keyFor returns the key of the item for a target state.
func keyFor(to ItemState) string { return fmt.Sprintf("to be %q", to) }

// reset brings the run into a state, with one item for each target, all in the given situation.
func (j *journey) reset(st RunState, from situation, targets ...ItemState) {
	j.Helper()
	j.force(`DELETE FROM items; DELETE FROM receipts; UPDATE runs SET state = 'superseded', finished_at = 1`)
	j.force(`UPDATE runs SET state = ?1, finished_at = iif(?1 IN ('finished', 'superseded'), 1, NULL) WHERE num = ?2`, st, j.run.Num)
	for _, to := range targets {
		j.put(keyFor(to), from)
	}
}

// force changes the state database as no method does.
func (j *journey) force(stmt string, args ...any) {
	j.Helper()
	_, err := j.w.ExecContext(j.Context(), stmt, args...)
	must(j, err)
}

// put stores an item that is in a situation.
func (j *journey) put(key string, at situation) {
	j.Helper()
	if at.state == noItem {
		return
	}
	i := fitting(key, at.state)
	var action, due any // none
	if i.Action != "" {
		action = i.Action
	}
	if at.state == ItemRetryScheduled {
		due = modified.UnixMilli()
	}
	j.force(`INSERT INTO items (run, key, size, time, version_tag, obstacle, action, state, attempts, intent_at, retry_at, asset)
		VALUES (?, ?, 10, 0, '', '', ?, ?, ?, 1, ?, ?)`, j.run.Num, key, action, at.state, at.attempts, due, i.Asset)
}

// fitting returns a decided item whose action and asset are valid for a state in the schema.
func fitting(key string, st ItemState) Item {
	i := decided(key, Create, st)
	switch st {
	case ItemStaged:
		return staged(key)
	case ItemSkipped:
		i.Action = Skip
	case ItemConflict:
		i.Action = Conflict
	case ItemSent, ItemDone:
		i.Asset = "former asset of " + key
	}
	return i
}

// towards returns the outcome that brings an item into a state.
func towards(key string, st ItemState) Outcome {
	o := Outcome{Key: sources.Key(key), State: st, Class: "transient", Error: "why", RetryAt: modified}
	if st == ItemSent || st == ItemDone {
		o.Receipt = receipt(key, "asset of "+key)
	}
	return o
}

// meets reports whether an item meets the condition of a transition.
func (j *journey) meets(key, when string) bool {
	j.Helper()
	return when == "" || j.count(fmt.Sprintf(`SELECT count(*) FROM items WHERE run = %d AND key = '%s' AND %s`, j.run.Num, key, when)) > 0
}

// expect triggers an event and checks that it leads to the state if possible, or else changes
// nothing.
func (j *journey) expect(tr trigger, key string, from situation, to ItemState, possible bool) error {
	j.Helper()
	name := fmt.Sprintf("from %+v towards %q", from, to)
	before, attempts := j.lookUp(key), j.count(`SELECT count(*) FROM attempts`)
	err := tr.do(j, key, to)
	after := j.lookUp(key)
	switch {
	case possible && (err != nil || after.State != to):
		j.Errorf("%s: it is %q (%v)", name, after.State, err)
	case possible:
	case err != nil && !errors.Is(err, ErrConflict), err == nil && tr.refuses:
		j.Errorf("%s: got %v, want ErrConflict", name, err)
	case !cmp.Equal(before, after):
		j.Errorf("%s left a trace:\n%s", name, cmp.Diff(before, after))
	case attempts != j.count(`SELECT count(*) FROM attempts`):
		j.Errorf("%s left an attempt", name)
	}
	return err
}

// lookUp finds an item of the run; the zero item if there is none.
func (j *journey) lookUp(key string) Item {
	j.Helper()
	i, err := j.Item(j.Context(), j.run.Num, sources.Key(key))
	if !errors.Is(err, ErrNotFound) {
		must(j, err)
	}
	return i
}
