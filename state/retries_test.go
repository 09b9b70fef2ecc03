package state

import (
	"slices"
	"testing"
	"time"

	"assetferry/sources"
)

func retryScheduled(key string, due time.Time) Outcome {
	return Outcome{Key: sources.Key(key), State: ItemRetryScheduled, Class: "transient", Error: "no answer", RetryAt: due}
}

func TestScheduledRetries(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c", "d")
	j.take(4)
	now := time.Now().Truncate(time.Millisecond)
	must(t, j.record(retryScheduled("a", now.Add(time.Hour)), retryScheduled("b", now.Add(-time.Minute)), retryScheduled("c", now.Add(-time.Hour)), done("d")))
	due, n, err := j.NextRetry(t.Context(), j.run.Num)
	if err != nil || n != 3 || !due.Equal(now.Add(-time.Hour)) {
		t.Errorf("got %v, %d (%v)", due, n, err)
	}
	if err := j.FinishRun(t.Context(), j.run.Num); err == nil {
		t.Error("a run with items that wait is finished")
	}
	items, err := j.TakeDue(t.Context(), j.run.Num, now, 1, now)
	must(t, err)
	if got := keysOf(items); !slices.Equal(got, []string{"c"}) || items[0].Attempts != 2 || items[0].State != ItemSending || !items[0].RetryAt.IsZero() {
		t.Errorf("took %+v, want the one that waits longest", items)
	}
	items, err = j.TakeDue(t.Context(), j.run.Num, now, 9, now)
	must(t, err)
	if got := keysOf(items); !slices.Equal(got, []string{"b"}) {
		t.Errorf("took %v, want what is due", got)
	}
	must(t, j.record(done("b"), retryScheduled("c", now.Add(time.Minute))))
	if i, err := j.Item(t.Context(), j.run.Num, "c"); err != nil || i.Attempts != 2 || !i.RetryAt.Equal(now.Add(time.Minute)) {
		t.Errorf("got %+v (%v)", i, err)
	}
	must(t, j.Supersede(t.Context(), j.run.Num)) // scheduled retries do not prevent it
}

// TestSentItems verifies that a sent item is not unconfirmed, that it keeps its asset, and that it
// may become done without another receipt.
func TestSentItems(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	j.take(2)
	o := done("a")
	o.State = ItemSent
	must(t, j.record(o))
	items, err := j.Interrupted(t.Context(), j.run.Num)
	must(t, err)
	if got := keysOf(items); !slices.Equal(got, []string{"b"}) {
		t.Errorf("unconfirmed are %v, want what was not sent", got)
	}
	must(t, j.record(Outcome{Key: "a", State: ItemRetryScheduled, RetryAt: modified}))
	taken, err := j.TakeDue(t.Context(), j.run.Num, time.Now(), 9, modified)
	if err != nil || len(taken) != 1 || taken[0].Asset != "asset of a" {
		t.Fatalf("took %+v (%v)", taken, err)
	}
	must(t, j.record(Outcome{Key: "a", State: ItemDone}))
	if i, err := j.Item(t.Context(), j.run.Num, "a"); err != nil || i.State != ItemDone || i.Asset != "asset of a" {
		t.Errorf("got %+v (%v)", i, err)
	}
}

func TestFailuresOverRuns(t *testing.T) {
	j := begin(t)
	fail := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			j.take(9)
			must(t, j.record(Outcome{Key: sources.Key(key), State: ItemFailed, Error: "no"}))
		}
	}
	next := func(keys ...string) {
		t.Helper()
		must(t, j.FinishRun(t.Context(), j.run.Num))
		var err error
		j.run, err = j.Begin(t.Context(), j.pair, "migrate", nil)
		must(t, err)
		j.apply(keys...)
	}
	want := func(key string, runs int, since Run) {
		t.Helper()
		for _, f := range collect(t, j.Failures(t.Context(), j.pair.ID, "")) {
			if string(f.Key) == key && f.Runs == runs && f.Since.Equal(since.StartedAt) {
				return
			}
		}
		t.Errorf("got %+v, want %s in %d runs since %v", collect(t, j.Failures(t.Context(), j.pair.ID, "")), key, runs, since.StartedAt)
	}
	first := j.run
	first.StartedAt = first.StartedAt.Add(-24 * time.Hour)
	execute(t, j.Path(), `UPDATE runs SET started_at = started_at - 86400000`)
	j.apply("a", "b")
	fail("a", "b")
	want("a", 1, first)
	next("a", "b")
	fail("a", "b")
	want("a", 2, first)
	want("b", 2, first)
	next("a", "b")
	execute(t, j.Path(), `UPDATE items SET size = size + 1 WHERE key = 'a' AND state = 'planned'`) // another file
	fail("a")
	want("a", 1, j.run) // it begins again
	must(t, j.record(done("b")))
	if all := collect(t, j.Failures(t.Context(), j.pair.ID, "")); len(all) != 1 {
		t.Errorf("got %+v, want one that still fails", all)
	}
	if all := collect(t, j.Failures(t.Context(), j.pair.ID, "a")); len(all) != 0 {
		t.Errorf("after a: got %+v", all)
	}
}

func TestIntentsOfStructure(t *testing.T) {
	j := begin(t)
	folder, category := PlaceKey{"c", "x/y"}, PlaceKey{"new:Other", ""}
	for _, p := range []PlaceKey{folder, category, folder} {
		must(t, j.Intend(t.Context(), "d", p, modified))
	}
	got, err := j.Intents(t.Context(), "d")
	if err != nil || len(got) != 2 || !got[folder].Equal(modified.Truncate(time.Millisecond)) {
		t.Errorf("got %v (%v)", got, err)
	}
	must(t, j.SaveFolder(t.Context(), "d", "c", "x/y", "id"))
	must(t, j.ForgetIntent(t.Context(), "d", category))
	must(t, j.Intend(t.Context(), j.pair.Destination, folder, modified))
	must(t, j.SaveNewFolder(t.Context(), j.pair, "c", "x/y", "id"))
	for _, d := range []string{"d", j.pair.Destination} {
		if got, err := j.Intents(t.Context(), d); err != nil || len(got) != 0 {
			t.Errorf("left at %s: %v (%v)", d, got, err)
		}
	}
}

func TestCalls(t *testing.T) {
	j := begin(t)
	now := time.Now()
	minute := now.Unix() / 60
	must(t, j.AddRequests(t.Context(), "d", map[int64]int64{minute: 3, minute - 1: 4, minute - 5000: 9}))
	must(t, j.AddRequests(t.Context(), "d", map[int64]int64{minute: 2}))
	must(t, j.AddRequests(t.Context(), "other", map[int64]int64{minute: 1}))
	got, err := j.Requests(t.Context(), "d", now.Add(-100*time.Hour))
	if err != nil || len(got) != 2 || got[minute] != 5 || got[minute-1] != 4 {
		t.Errorf("got %v (%v), want two minutes, the old one forgotten", got, err)
	}
	if got, err = j.Requests(t.Context(), "d", now); err != nil || len(got) != 1 {
		t.Errorf("since now: got %v (%v)", got, err)
	}
}

// TestUnclearFailures verifies that a failed object is marked as possibly uploaded until it has a
// receipt or becomes another object.
func TestUnclearFailures(t *testing.T) {
	sent := done("a")
	sent.State = ItemSent
	failed := done("a")
	failed.State = ItemFailed
	for name, tc := range map[string]struct {
		next func(t *testing.T, j *journey)
		want bool
	}{
		"failed otherwise":      {func(t *testing.T, j *journey) { must(t, j.record(Outcome{Key: "a", State: ItemFailed})) }, true},
		"changed":               {func(t *testing.T, j *journey) { must(t, j.record(Outcome{Key: "a", State: ItemChanged})) }, true},
		"sent":                  {func(t *testing.T, j *journey) { must(t, j.record(sent)) }, false},
		"sent, failed for good": {func(t *testing.T, j *journey) { must(t, j.record(failed)) }, false},
		"another object": {func(t *testing.T, j *journey) {
			execute(t, j.Path(), `UPDATE items SET size = size + 1 WHERE state = 'sending'`)
			must(t, j.record(Outcome{Key: "a", State: ItemFailed}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := begin(t)
			j.apply("a")
			j.take(1)
			must(t, j.record(Outcome{Key: "a", State: ItemChanged, Unclear: true}))
			must(t, j.FinishRun(t.Context(), j.run.Num))
			var err error
			j.run, err = j.Begin(t.Context(), j.pair, "migrate", nil)
			must(t, err)
			j.apply("a")
			j.take(1)
			tc.next(t, j)
			all := collect(t, j.Failures(t.Context(), j.pair.ID, ""))
			if len(all) != 1 || all[0].Unclear != tc.want {
				t.Errorf("got %+v, want unclear %v", all, tc.want)
			}
		})
	}
}
