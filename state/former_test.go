package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"assetferry/sources"
)

// replaces begins a run that replaces existing assets, stores their previous state, and starts to
// apply.
func (j *journey) replaces(was string, keys ...string) {
	j.Helper()
	j.begin("sync")
	j.plansReplacing(was, keys...)
}

// plansReplacing plans that for the run once it has been listed.
func (j *journey) plansReplacing(was string, keys ...string) {
	j.Helper()
	j.stage(keys...)
	var items []Item
	var former []Former
	for _, key := range keys {
		i := decided(key, Replace, ItemPlanned)
		i.Asset = "asset of " + key
		items = append(items, i)
		former = append(former, Former{i.Key, i.Key, json.RawMessage(fmt.Sprintf(`{"name":%q}`, was))})
	}
	must(j, j.Decided(j.Context(), j.run.Num, items))
	must(j, j.SaveFormer(j.Context(), j.run.Num, j.pair.ID, former))
	must(j, j.FinishPlan(j.Context(), j.run.Num, "hash", json.RawMessage("[]")))
	must(j, j.SetRunState(j.Context(), j.run.Num, Planned, Applying))
}

// wantFormer checks the stored previous states: the run keeps those of the first keys as they were
// at its first plan, and none of the others.
func (j *journey) wantFormer(first []string, all ...string) {
	j.Helper()
	for _, key := range all {
		kept, err := j.FormerAsset(j.Context(), j.run.Num, sources.Key(key))
		must(j, err)
		want := ""
		if slices.Contains(first, key) {
			want = `{"name":"first"}`
		}
		if string(kept) != want {
			j.Errorf("of %s it keeps %s, want %s", key, kept, want)
		}
	}
}

// TestRelistForgetsFormerOfWhatNeverBegan verifies that a run which is listed again forgets the
// previous states of assets that it had not started to change: users may change them before its
// next plan. The records of other assets stay, however often the run is listed again.
func TestRelistForgetsFormerOfWhatNeverBegan(t *testing.T) {
	all := []string{"a done", "b failed", "c waiting", "d released", "e sent again", "f planned"}
	begun := all[:5]
	j := begin(t)
	j.apply(all...)
	j.take(len(all))
	for _, key := range all {
		must(t, j.record(done(key)))
	}

	j.replaces("first", all...)
	j.take(len(begun))
	must(t, j.record(
		Outcome{Key: "a done", State: ItemDone, Receipt: receipt("a done", "asset of a done"), InsteadOf: "a done"},
		Outcome{Key: "b failed", State: ItemFailed, Class: "permanent", Error: "no"},
		Outcome{Key: "c waiting", State: ItemRetryScheduled, Class: "transient", Error: "later", RetryAt: time.Now()},
	))
	must(t, j.Release(t.Context(), j.run.Num, []sources.Key{"d released"}))
	_, err := j.Interrupted(t.Context(), j.run.Num)
	must(t, err)
	must(t, j.Resend(t.Context(), j.run.Num, []sources.Key{"e sent again"}, time.Now()))
	must(t, j.Release(t.Context(), j.run.Num, []sources.Key{"e sent again"}))
	must(t, j.Relist(t.Context(), j.run.Num))
	j.wantFormer(begun, all...)

	j.plansReplacing("second", all[1:]...)
	if kept, err := j.FormerAsset(t.Context(), j.run.Num, "f planned"); err != nil || string(kept) != `{"name":"second"}` {
		t.Errorf("of what was planned anew it keeps %s (%v)", kept, err)
	}
	j.wantFormer(begun, begun...)
	must(t, j.Relist(t.Context(), j.run.Num)) // and no item shows any more that it was taken
	j.wantFormer(begun, all...)
}

// TestRelistAfterTakeoverKeepsFormer verifies that previous states stay in a state database after a
// takeover. The database may be older than the last actions, so planned items may have been
// started.
func TestRelistAfterTakeoverKeepsFormer(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	must(t, j.record(done("a")))
	j.replaces("first", "a")
	must(t, j.Write(t.Context(), "test", distrust))
	must(t, j.Relist(t.Context(), j.run.Num))
	j.wantFormer([]string{"a"}, "a")
}
