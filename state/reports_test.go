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

// TestCategories verifies that categories are stored as they were last read, including deleted
// ones.
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

// TestDifferences verifies that the differences of the last verification are stored, also if there
// is more than a page of them, and that those of earlier ones are deleted.
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
	if diff := cmp.Diff(want, collect(t, j.CurrentDifferences(ctx, last.Pair))); diff != "" {
		t.Error(diff)
	}
	var kept int
	must(t, j.r.QueryRowContext(ctx, `SELECT count(*) FROM differences`).Scan(&kept))
	if kept != len(want) {
		t.Errorf("%d differences are kept, want %d", kept, len(want))
	}
}

// TestThroughput verifies that minutes count the items that got an outcome and the bytes that were
// uploaded. They count neither items scheduled for retry nor adopted assets.
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

// TestPurpose verifies that the purpose of a destination is unknown until it is set, and that it is
// set for one pair only.
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

// TestLastArrival verifies that the last upload is that of the pair, and zero if there is none.
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

// TestSumDescriptions verifies that stored metadata is counted by kind for the run that created the
// assets.
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

// TestCountIncomplete verifies that a failed object counts once, until a run uploads it.
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

	// IncompleteKeys also lists items without an outcome, except those of a run that has not been
	// applied.
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

	// An item for which a superseded run had not started counts as incomplete, too.
	must(t, j.Supersede(t.Context(), j.run.Num))
	left(first, 3)
	keys("c", "e", "f")

	// An undone run does not count.
	j.undone(j.run)
	left(first, 1)
	keys("c")

	// A plan that may never be applied does not count either.
	j.run, err = j.Begin(t.Context(), j.pair, "migrate", json.RawMessage("{}"))
	must(t, err)
	j.stage("c", "g")
	must(t, j.Decided(t.Context(), j.run.Num, []Item{decided("c", Create, ItemPlanned), decided("g", Create, ItemPlanned)}))
	must(t, j.FinishPlan(t.Context(), j.run.Num, "hash", json.RawMessage("[]")))
	keys("c")

	// An object that shares the asset of another one is complete.
	j.exec(`INSERT INTO aliases (pair, key, size, time, version_tag, owner, run) VALUES (?, 'c', 10, 0, '', 'a', ?)`, j.pair.ID, j.run.Num)
	left(first, 0)
	keys()
}

// TestCountIncompleteAfterRelist verifies that a run that is listed again and then superseded still
// counts the objects that it had not uploaded. Without a new plan their number is unknown, so the
// run does not count as a complete listing.
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
