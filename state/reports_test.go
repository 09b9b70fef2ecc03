package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Categories are known as they were last seen, also those that are gone.
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
	for n := range pageSize + 1 {
		for _, field := range []string{"name", "size"} {
			want = append(want, Difference{Key: fmt.Sprintf("a %06d", n), Asset: fmt.Sprint(n), Field: field, What: "differs"})
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
		Outcome{Key: "doubtful", State: ItemInDoubt}, Outcome{Key: "waiting", State: ItemWaiting, DueAt: j.now()}))
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
