package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

// Categories are known as they were last seen, also those that were deleted.
func TestCategories(t *testing.T) {
	j := begin(t)
	ctx, to := t.Context(), j.pair.Destination
	must(t, j.SaveCategories(ctx, to, []Category{{ID: "1", Name: "Images"}, {ID: "2", Name: "Contracts", Private: true}}))
	must(t, j.SaveCategories(ctx, to, []Category{{ID: "1", Name: "Pictures", Private: true}}))
	got, err := j.Categories(ctx, to)
	must(t, err)
	want := map[string]Category{"1": {"1", "Pictures", true}, "2": {"2", "Contracts", true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if others, err := j.Categories(ctx, "elsewhere"); err != nil || len(others) > 0 {
		t.Errorf("elsewhere: %v (%v)", others, err)
	}
}

// What the last verification found is kept, more than a page of it, and no older finds.
func TestDifferences(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	v := Verification{Pair: j.pair.ID, Level: "listing", Differences: 1}
	must(t, j.SaveVerification(ctx, v, []Difference{{Key: "gone by now", Asset: "1", Field: "size", What: "was smaller"}}))
	var want []Difference
	for n := range PageSize + 1 {
		for _, field := range []string{"name", "size"} {
			want = append(want, Difference{Key: sources.Key(fmt.Sprintf("a %06d", n)), Asset: fmt.Sprint(n), Field: field, What: "differs"})
		}
	}
	v.Differences = int64(len(want))
	must(t, j.SaveVerification(ctx, v, want))
	last, err := j.LastVerification(ctx, j.pair.ID)
	must(t, err)
	if diff := cmp.Diff(want, collect(t, j.Differences(ctx, last.ID))); diff != "" {
		t.Error(diff)
	}
	var kept int
	must(t, j.r.QueryRowContext(ctx, `SELECT count(*) FROM differences`).Scan(&kept))
	if kept != len(want) {
		t.Errorf("%d differences are kept, want %d", kept, len(want))
	}
}

// Minutes count what came to an outcome, and the bytes of what was sent: not what
// waits, and not what was there already.
func TestThroughput(t *testing.T) {
	j := begin(t)
	j.now = func() time.Time { return time.Date(2026, 5, 1, 10, 20, 59, 0, time.UTC) }
	j.apply("adopted", "doubtful", "failed", "sent", "waiting")
	j.take(5)
	adopted := done("adopted")
	adopted.Receipt.Adopted = true
	must(t, j.record(done("sent"), adopted, Outcome{Key: "failed", State: ItemFailed, Class: "permanent", Error: "refused"},
		Outcome{Key: "doubtful", State: ItemUnconfirmed}, Outcome{Key: "waiting", State: ItemRetryScheduled, RetryAt: j.now()}))
	j.now = func() time.Time { return time.Date(2026, 5, 1, 10, 22, 0, 0, time.UTC) }
	must(t, j.record(done("doubtful")))
	got, err := j.Throughput(t.Context(), j.run.Num)
	must(t, err)
	size := done("sent").Receipt.Size
	want := []Minute{
		{time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC), 3, size},
		{time.Date(2026, 5, 1, 10, 22, 0, 0, time.UTC), 1, size},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a destination is there for is not known until a user has asked, and is then
// known of that pair alone.
func TestPurpose(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	_, err := j.Pair(ctx, "another", j.pair.Destination, "")
	must(t, err)
	for _, want := range []Purpose{PurposeUnknown, Sandbox, Production, PurposeUnknown} {
		must(t, j.SavePurpose(ctx, j.pair.ID, want))
		pairs, err := j.Pairs(ctx)
		must(t, err)
		again, err := j.Pair(ctx, j.pair.Source, j.pair.Destination, "")
		must(t, err)
		run, err := j.Run(ctx, j.run.ID)
		must(t, err)
		if pairs[0].Purpose != want || again.Purpose != want || run.Pair.Purpose != want || pairs[1].Purpose != PurposeUnknown {
			t.Errorf("saved %q, got %q, %q and %q, and %q of the other", want, pairs[0].Purpose, again.Purpose, run.Pair.Purpose, pairs[1].Purpose)
		}
	}
}

// The last arrival is that of a pair, and nothing where nothing has arrived.
func TestLastArrival(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	if sum, err := j.SumVerified(ctx, j.pair.ID); err != nil || sum != (VerifiedSum{}) {
		t.Errorf("before any: %+v (%v)", sum, err)
	}
	clock := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	j.now = func() time.Time { return clock }
	j.apply("a", "b")
	j.take(2)
	must(t, j.record(done("b")))
	clock = clock.Add(time.Hour)
	must(t, j.record(done("a")))
	if sum, err := j.SumVerified(ctx, j.pair.ID); err != nil || !sum.LastArrival.Equal(clock) {
		t.Errorf("got %v (%v), want %v", sum.LastArrival, err, clock)
	}
}

// What is kept of objects is counted by what it is, for the run that took them over.
func TestSumDescriptions(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	if d, err := j.SumDescriptions(ctx, j.run); err != nil || d != (DescriptionSum{}) {
		t.Errorf("before any: %+v (%v)", d, err)
	}
	j.apply("a", "b", "c", "d")
	j.take(4)
	for key, d := range map[string]*Description{
		"a": {ContentType: "image/jpeg"}, "b": {ContentType: "image/jpeg", Metadata: map[string]string{"by": "Ada"}},
		"c": {Tags: map[string]string{"year": "2026"}}, "d": nil,
	} {
		o := done(key)
		o.Receipt.Description = d
		must(t, j.record(o))
	}
	want := DescriptionSum{Objects: 3, ContentTypes: 2, Metadata: 1, Tags: 1}
	if d, err := j.SumDescriptions(ctx, j.run); err != nil || d != want {
		t.Errorf("got %+v (%v), want %+v", d, err, want)
	}
	if d, err := j.SumDescriptions(ctx, Run{Num: j.run.Num + 1, Pair: j.pair}); err != nil || d != (DescriptionSum{}) {
		t.Errorf("another run: %+v (%v)", d, err)
	}
}

// What failed counts once, until something brings it.
func TestCountIncomplete(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c")
	j.take(3)
	fail := func(key string) Outcome {
		return Outcome{Key: sources.Key(key), State: ItemFailed, Class: "permanent", Error: "refused"}
	}
	must(t, j.record(done("a"), fail("b"), fail("c")))
	must(t, j.FinishRun(t.Context(), j.run.Num))
	first := j.run.Num
	left := func(from, want int64) {
		t.Helper()
		if n, err := j.CountIncomplete(t.Context(), j.pair.ID, from, from); err != nil || n != want {
			t.Errorf("from run %d: %d (%v), want %d", from, n, err, want)
		}
	}
	left(first, 2)
	var err error
	j.run, err = j.Begin(t.Context(), j.pair, "migrate", json.RawMessage("{}"))
	must(t, err)
	j.apply("b", "c")
	j.take(2)
	must(t, j.record(done("b"), fail("c")))
	left(first, 1)
	left(j.run.Num, 1)
	left(j.run.Num+1, 0)

	// Who takes up what was left needs the keys, but for what will be decided first.
	keys := func(want ...sources.Key) {
		t.Helper()
		if got, err := j.IncompleteKeys(t.Context(), j.pair.ID, first); err != nil || !slices.Equal(got, want) {
			t.Errorf("not arrived are %q (%v), want %q", got, err, want)
		}
	}
	keys("c")
	must(t, j.FinishRun(t.Context(), j.run.Num))
	j.run, err = j.Begin(t.Context(), j.pair, "migrate", json.RawMessage("{}"))
	must(t, err)
	j.apply("d", "e", "f")
	j.take(2)
	must(t, j.record(done("d"), fail("e")))
	left(first, 2)
	keys("c", "e", "f")

	// What a run had not come to when it was given up has not come through either.
	must(t, j.Supersede(t.Context(), j.run.Num))
	left(first, 3)
	keys("c", "e", "f")

	// An undone run counts as if it had not been.
	j.undone(j.run)
	left(first, 1)
	keys("c")

	// Nor does one count that may never be applied.
	j.run, err = j.Begin(t.Context(), j.pair, "migrate", json.RawMessage("{}"))
	must(t, err)
	j.stage("c", "g")
	must(t, j.Decided(t.Context(), j.run.Num, []Item{decided("c", Create, ItemPlanned), decided("g", Create, ItemPlanned)}))
	must(t, j.FinishPlan(t.Context(), j.run.Num, "hash", json.RawMessage("[]")))
	keys("c")

	// What shares the asset of another object has arrived.
	j.exec(`INSERT INTO aliases (pair, key, size, time, version_tag, owner, run) VALUES (?, 'c', 10, 0, '', 'a', ?)`, j.pair.ID, j.run.Num)
	left(first, 0)
	keys()
}

// A run that is listed again and then replaced by another still counts what it had not uploaded.
// Without a new plan that is unknown, so the run does not count as a complete listing.
func TestCountIncompleteAfterRelist(t *testing.T) {
	for name, tc := range map[string]struct {
		plan    bool
		left    int64
		keys    []sources.Key
		giveWay func(j *journey) error
	}{
		"planned, then another run":  {true, 2, []sources.Key{"b", "c"}, another},
		"planned, then given up":     {true, 2, []sources.Key{"b", "c"}, givenUp},
		"planning, then another run": {false, 0, nil, another},
		"planning, then given up":    {false, 0, nil, givenUp},
	} {
		t.Run(name, func(t *testing.T) {
			j := begin(t)
			j.apply("a", "b", "c")
			j.take(1)
			must(t, j.record(done("a")))
			must(t, j.Relist(t.Context(), j.run.Num))
			j.stage("a", "b", "c", "d")
			if tc.plan {
				must(t, j.Decided(t.Context(), j.run.Num, []Item{decided("b", Create, ItemPlanned), decided("c", Create, ItemPlanned), decided("d", Skip, ItemSkipped)}))
				must(t, j.FinishPlan(t.Context(), j.run.Num, "hash", json.RawMessage("[]")))
			}
			unarrived := func() {
				t.Helper()
				if got, err := j.IncompleteKeys(t.Context(), j.pair.ID, j.run.Num); err != nil || !slices.Equal(got, tc.keys) {
					t.Errorf("not arrived are %q (%v), want %q", got, err, tc.keys)
				}
			}
			unarrived()
			must(t, tc.giveWay(j))
			unarrived()
			if n, err := j.CountIncomplete(t.Context(), j.pair.ID, j.run.Num, j.run.Num); err != nil || n != tc.left {
				t.Errorf("left %d (%v), want %d", n, err, tc.left)
			}
			if r := j.reload(); r.State != Superseded || r.Scanned != tc.plan || j.stateOf("a") != ItemDone {
				t.Errorf("got %+v, and a is %s", r, j.stateOf("a"))
			}
		})
	}
}

func another(j *journey) error {
	_, err := j.Begin(j.Context(), j.pair, "migrate", json.RawMessage("{}"))
	return err
}

func givenUp(j *journey) error { return j.Supersede(j.Context(), j.run.Num) }
