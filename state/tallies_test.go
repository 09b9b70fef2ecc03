package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
	"assetferry/sources"

	"github.com/google/go-cmp/cmp"
)

// counted computes the tallies of a run from its items.
func (j *journey) counted() []Tally {
	j.Helper()
	all, err := query(j.Context(), j.r, "count", func(rows *sql.Rows) (t Tally, err error) {
		return t, rows.Scan(&t.Action, &t.Reason, &t.State, &t.Objects, &t.Bytes)
	}, `SELECT coalesce(action, ''), reason, state, count(*), sum(size) FROM items WHERE run = ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, j.run.Num)
	must(j, err)
	return all
}

// TestTalliesAreWhatIsCounted verifies that the stored tallies of a run equal the count of its
// items after any sequence of operations.
func TestTalliesAreWhatIsCounted(t *testing.T) {
	seed := seedtest.Seed(t)
	for n := range longtest.Size[uint64](2, 8) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			h := history{begin(t), rand.New(rand.NewPCG(seed, n))}
			for range 120 {
				did := h.step()
				tallies, err := h.Tallies(t.Context(), h.run.Num)
				must(t, err)
				if diff := cmp.Diff(h.counted(), tallies); diff != "" {
					t.Fatalf("after %s (-counted +tallied):\n%s", did, diff)
				}
				if h.wantSound(); t.Failed() {
					t.Fatalf("after %s", did)
				}
			}
		})
	}
}

// A history applies random operations to a state database.
type history struct {
	*journey
	random *rand.Rand
}

// step runs a random possible operation and returns its name.
func (h *history) step() string {
	h.Helper()
	steps := []func() error{h.listAll, h.decideAll, h.startApplying, h.takeSome, h.takeSome, h.advanceSome, h.advanceSome, h.advanceSome,
		h.releaseSome, h.resendSome, h.wakeSome, h.interrupt, h.finishRun}
	if h.random.IntN(20) == 0 {
		steps = []func() error{h.listAgain, h.supersedeIt, h.beginAnother, h.undoIt}
	}
	for {
		n := h.random.IntN(len(steps))
		switch err := steps[n](); {
		case err == nil:
			return fmt.Sprintf("step %d of %d", n, len(steps))
		case errors.Is(err, ErrConflict):
			if steps = append(steps[:n], steps[n+1:]...); len(steps) == 0 {
				return "nothing"
			}
		default:
			h.Fatal(err)
		}
	}
}

func (h *history) listAll() error {
	p := Page{Done: true}
	for _, key := range numbered(60) {
		if h.random.IntN(3) > 0 {
			i := staged(key)
			i.Size = h.random.Int64N(1000)
			p.Items = append(p.Items, i)
		}
	}
	return h.Stage(h.Context(), h.run.Num, p)
}

func (h *history) decideAll() error {
	var items []Item
	for _, i := range collect(h, h.Items(h.Context(), h.run.Num, ItemStaged)) {
		d := decided(string(i.Key), Create, ItemPlanned)
		switch h.random.IntN(6) {
		case 0:
			d.Action, d.State = Skip, ItemSkipped
		case 1:
			d.Action, d.State, d.Reason = Conflict, ItemConflict, "something else"
		case 2:
			d.State, d.Reason = ItemRetriesExhausted, "failed"
		}
		items = append(items, d)
	}
	if err := h.Decided(h.Context(), h.run.Num, items); err != nil {
		return err
	}
	return h.FinishPlan(h.Context(), h.run.Num, "hash", json.RawMessage("[]"))
}

func (h *history) startApplying() error {
	return h.SetRunState(h.Context(), h.run.Num, Planned, Applying)
}

func (h *history) takeSome() error {
	_, err := h.Take(h.Context(), h.run.Num, Next{After: "", N: 1 + h.random.IntN(9), Time: modified})
	return err
}

// some returns the keys of random items in some states.
func (h *history) some(states ...ItemState) (keys []sources.Key) {
	h.Helper()
	for _, i := range collect(h, h.Items(h.Context(), h.run.Num, states...)) {
		if h.random.IntN(3) > 0 {
			keys = append(keys, i.Key)
		}
	}
	return keys
}

func (h *history) advanceSome() error {
	var outcomes []Outcome
	for _, key := range h.some(ItemSending, ItemUnconfirmed) {
		if _, err := h.Receipt(h.Context(), h.pair.ID, key); err == nil { // of an earlier run
			outcomes = append(outcomes, Outcome{Key: key, State: ItemChanged, Class: "transient"})
			continue
		}
		o := []Outcome{done(string(key)), done(string(key)), done(string(key)), {Key: key, State: ItemFailed, Class: "permanent", Error: "refused"},
			{Key: key, State: ItemUnconfirmed, Class: "transient"}, {Key: key, State: ItemRetryScheduled, RetryAt: modified},
			{Key: key, State: ItemSent, Receipt: receipt(string(key), string("asset of "+key))}}[h.random.IntN(7)]
		if o.State == ItemDone && h.random.IntN(8) == 0 {
			o.Receipt.Asset = "one for all"
		}
		outcomes = append(outcomes, o)
	}
	for _, key := range h.some(ItemSent) {
		outcomes = append(outcomes, Outcome{Key: key, State: ItemDone})
	}
	for n := range outcomes {
		if h.random.IntN(2) == 0 {
			outcomes[n].Taken = h.tallyOf(outcomes[n].Key)
		}
	}
	_, err := h.Advance(h.Context(), h.run.Num, h.pair.ID, outcomes, Next{N: h.random.IntN(9), Time: modified})
	return err
}

// tallyOf returns the tally of one item.
func (h *history) tallyOf(key sources.Key) (t Tally) {
	h.Helper()
	must(h, h.r.QueryRowContext(h.Context(), `SELECT action, reason, 1, size FROM items WHERE run = ? AND key = ?`, h.run.Num, key).
		Scan(&t.Action, &t.Reason, &t.Objects, &t.Bytes))
	return t
}

func (h *history) releaseSome() error {
	return h.Release(h.Context(), h.run.Num, h.some(ItemSending))
}

func (h *history) resendSome() error {
	return h.Resend(h.Context(), h.run.Num, h.some(ItemUnconfirmed), modified)
}

func (h *history) wakeSome() error {
	_, err := h.TakeDue(h.Context(), h.run.Num, time.Now(), 5, modified)
	return err
}

func (h *history) interrupt() error {
	_, err := h.Interrupted(h.Context(), h.run.Num)
	return err
}

func (h *history) finishRun() error { return h.FinishRun(h.Context(), h.run.Num) }

func (h *history) listAgain() error { return h.Relist(h.Context(), h.run.Num) }

func (h *history) supersedeIt() error { return h.Supersede(h.Context(), h.run.Num) }

// beginAnother begins another run, which supersedes the plan of the previous one.
func (h *history) beginAnother() error {
	run, err := h.Run(h.Context(), h.run.ID)
	if err == nil && run.State == Applying {
		return ErrConflict
	}
	must(h, err)
	h.run, err = h.Begin(h.Context(), h.pair, "migrate", json.RawMessage("{}"))
	return err
}

// undoIt undoes the run, except for assets that were deleted already, and begins another one.
func (h *history) undoIt() error {
	ctx := h.Context()
	undo, err := h.BeginUndo(ctx, h.run)
	if err != nil {
		return err
	}
	must(h, h.stageUndo(undo))
	must(h, h.planUndo(ctx, undo))
	must(h, h.SetRunState(ctx, undo.Num, Planned, Applying))
	items, err := h.Take(ctx, undo.Num, Next{After: "", N: 1000, Time: modified})
	must(h, err)
	var outcomes []Outcome
	for _, i := range items {
		outcomes = append(outcomes, Outcome{Key: i.Key, State: ItemDone, Undone: true})
	}
	must(h, h.Record(ctx, undo.Num, h.pair.ID, outcomes))
	h.wantSound()
	must(h, h.FinishUndo(ctx, undo))
	return h.beginAnother()
}

func (h *history) planUndo(ctx context.Context, undo Run) error {
	var items []Item
	for _, i := range collect(h, h.Items(ctx, undo.Num)) {
		if i.Action, i.State, i.Reason = Trash, ItemPlanned, "made"; h.random.IntN(4) == 0 {
			i.Action, i.State, i.Reason = Skip, ItemSkipped, "gone"
		}
		items = append(items, i)
	}
	if err := h.Decided(ctx, undo.Num, items); err != nil {
		return err
	}
	return h.FinishPlan(ctx, undo.Num, "hash", json.RawMessage("[]"))
}
