package state

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

// sidecars has a page of the listing report sidecars.
func (j *journey) sidecars(all ...Sidecar) {
	j.Helper()
	must(j, j.Stage(j.Context(), j.run.Num, Page{Sidecars: all}))
}

func sidecar(key string) Sidecar {
	return Sidecar{Object: sources.Object{Key: sources.Key(key), Size: 10, Time: modified.UTC()}, Folded: key, Pending: true}
}

func (j *journey) wantSidecars(want ...Sidecar) {
	j.Helper()
	if diff := cmp.Diff(want, collect(j, j.Sidecars(j.Context(), j.pair.ID, ""))); diff != "" {
		j.Errorf("sidecars (-want +got):\n%s", diff)
	}
	var pending []Sidecar
	for _, c := range want {
		if c.Pending {
			pending = append(pending, c)
		}
	}
	if diff := cmp.Diff(pending, collect(j, j.PendingSidecars(j.Context(), j.pair.ID))); diff != "" {
		j.Errorf("pending (-want +got):\n%s", diff)
	}
}

// TestSidecarsOfRuns verifies that only a completed run has processed its sidecars.
func TestSidecarsOfRuns(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	a, b, c := sidecar("a.json"), sidecar("b.json"), sidecar("c.json")
	j.sidecars(a, b, c)
	j.wantSidecars(a, b, c)
	must(t, j.ClaimSidecars(ctx, j.pair.ID, j.run.Num, []sources.Key{"a.json", "b.json", "c.json"}))
	must(t, j.UnreadSidecar(ctx, j.pair.ID, "c.json"))
	a.Claimed, b.Claimed, c.Unread = j.run.Num, j.run.Num, true
	j.wantSidecars(a, b, c)

	must(t, j.Supersede(ctx, j.run.Num)) // and has not done it
	var err error
	j.run, err = j.Begin(ctx, j.pair, "sync", json.RawMessage("{}"))
	must(t, err)
	j.wantSidecars(a, b, c)
	j.apply()
	must(t, j.ClaimSidecars(ctx, j.pair.ID, j.run.Num, []sources.Key{"a.json", "b.json"}))
	must(t, j.ClaimSidecars(ctx, j.pair.ID, 0, []sources.Key{"b.json"}))
	must(t, j.FinishRun(ctx, j.run.Num))
	a.Claimed, a.Pending, b.Claimed = 0, false, 0
	j.wantSidecars(a, b, c)
}

// TestRecordedSidecars verifies that the sidecars among the items of a run are stored, claimed by the
// run, unless they are stored already.
func TestRecordedSidecars(t *testing.T) {
	const more = 2
	j := begin(t)
	known := sidecar("a/00000.json")
	known.Unread, known.Size = true, 99
	must(t, j.SaveSidecars(t.Context(), j.run.Num, []Sidecar{known}))
	must(t, j.UnreadSidecar(t.Context(), j.pair.ID, known.Key))
	want := []Sidecar{known}
	p := Page{Items: []Item{{Object: known.Object, Action: Skip, Reason: "sidecar", State: ItemSkipped}}}
	for n := 1; n < recordedAtOnce+more; n++ {
		c := sidecar(fmt.Sprintf("a/%05d.json", n))
		c.Claimed = j.run.Num
		if n%100 == 0 {
			c.Key = sources.Key(fmt.Sprintf("a/%05d.JSON", n))
		}
		want = append(want, c)
		p.Items = append(p.Items, Item{Object: c.Object, Action: Skip, Reason: "sidecar", State: ItemSkipped},
			Item{Object: sources.Object{Key: c.Key + ".jpg", Time: modified}, Action: Skip, Reason: "filtered", State: ItemSkipped})
	}
	must(t, j.Stage(t.Context(), j.run.Num, p))
	for range 2 {
		must(t, j.RecordSidecars(t.Context(), j.run.Num, "sidecar", func(key sources.Key) string { return strings.ToLower(string(key)) }))
		j.wantSidecars(want...)
	}
}

// TestSidecarsAreLookedUp verifies that a query for the sidecars of an object does not read those of all
// objects.
func TestSidecarsAreLookedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	open(t, path)
	steps := explained(t, path, sidecarsAmong, 1, `["a.jpg"]`)
	if !strings.HasSuffix(steps[0], "sidecars_folded (pair=? AND folded=?)") {
		t.Errorf("%s", strings.Join(steps, "\n"))
	}
}

// TestMissedSidecars verifies that a sidecar which was missed stays pending until no data of the
// run that missed it is left.
func TestMissedSidecars(t *testing.T) {
	c := newCalendar(t)
	a, b := sidecar("a.json"), sidecar("b.json")
	a.Pending, b.Pending = false, false
	c.begin("sync")
	c.sidecars(a, b)
	c.apply()
	must(t, c.FinishRun(t.Context(), c.run.Num))
	c.begin("sync")
	missed := a
	missed.Missed = c.run.Num
	c.sidecars(missed)
	c.apply()
	must(t, c.FinishRun(t.Context(), c.run.Num))
	c.wantSidecars(missed, b)
	c.runOnce("sync", []string{"x"}, nil)
	c.wantSidecars(missed, b)
	_, err := c.Prune(t.Context(), c.today.AddDate(1, 0, 0))
	must(t, err)
	c.wantSidecars(b)
	must(t, c.ForgetSidecar(t.Context(), c.pair.ID, "b.json"))
	c.wantSidecars()
}
