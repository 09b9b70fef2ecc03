package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRates verifies that a rate covers the seconds of a minute in which items finished, that the
// latest comes first, and that other destinations do not count.
func TestRates(t *testing.T) {
	j := begin(t)
	at := func(minute, second int) {
		j.now = func() time.Time { return time.Date(2026, 5, 1, 10, minute, second, 0, time.UTC) }
	}
	j.apply("a", "b", "c", "d")
	j.take(4)
	at(20, 10)
	must(t, j.record(done("a")))
	at(20, 40)
	must(t, j.record(done("b"), Outcome{Key: "c", State: ItemUnconfirmed}))
	at(25, 0)
	must(t, j.record(done("d")))
	size := done("a").Receipt.Size
	want := []Rate{{1, size, 0}, {2, 2 * size, 30 * time.Second}}
	got, err := j.Rates(t.Context(), j.pair.Destination, 10)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := j.Rates(t.Context(), j.pair.Destination, 1); err != nil || len(got) != 1 || got[0] != want[0] {
		t.Errorf("at most one: %v (%v)", got, err)
	}
	if got, err := j.Rates(t.Context(), "elsewhere", 10); err != nil || len(got) != 0 {
		t.Errorf("elsewhere: %v (%v)", got, err)
	}
}
