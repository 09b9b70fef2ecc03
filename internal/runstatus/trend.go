package runstatus

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assetferry/internal/event"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/state"
)

// Outcomes counts the objects of a run by what became of them, in the words of reports.
func Outcomes(tallies []state.Tally) event.Counts {
	counts := event.Counts{}
	for _, t := range tallies {
		counts[report.Told(t.Action, t.State)] += t.Objects
	}
	return counts
}

// Took is how long a run took, 0 if it has not ended.
func Took(r state.Run) time.Duration {
	if r.FinishedAt.IsZero() {
		return 0
	}
	return r.FinishedAt.Sub(r.StartedAt)
}

// A trend is a number of the last syncs, the oldest first.
type trend struct {
	name   string
	values []int64
	text   func(int64) string
}

// trendsOf takes the numbers of finished syncs.
func trendsOf(runs []state.Run, tallies [][]state.Tally) []trend {
	seconds := func(n int64) string { return ui.Duration(time.Duration(n) * time.Second) }
	all := []trend{{name: "took", text: seconds}}
	for _, r := range runs {
		all[0].values = append(all[0].values, int64(Took(r).Round(time.Second).Seconds()))
	}
	for _, word := range []string{"created", "replaced", "described", "moved", "trashed", "failed"} {
		t := trend{name: word, text: ui.Count}
		for _, of := range tallies {
			t.values = append(t.values, Outcomes(of)[word])
		}
		if slices.Max(t.values) > 0 || word == "created" || word == "failed" {
			all = append(all, t)
		}
	}
	return all
}

// row is a trend for people: its course, the last number, and how that differs from the
// one before.
func (t trend) row() []string {
	last := len(t.values) - 1
	difference := "as before"
	switch d := t.values[last] - t.values[last-1]; {
	case d > 0:
		difference = "↑ " + t.text(d)
	case d < 0:
		difference = "↓ " + t.text(-d)
	}
	return []string{t.name, ui.Sparkline(t.values), t.text(t.values[last]), difference}
}

// Trends shows how the last finished syncs of a pair compare, given with the newest first; empty
// for fewer than two.
func Trends(ctx context.Context, store *state.Store, newestFirst []state.Run) (string, error) {
	var runs []state.Run
	var tallies [][]state.Tally
	for _, r := range slices.Backward(newestFirst) {
		if ok, err := IsSync(r); err != nil {
			return "", err
		} else if !ok || r.State != state.Finished {
			continue
		}
		of, err := store.Tallies(ctx, r.Num)
		if err != nil {
			return "", err
		}
		runs, tallies = append(runs, r), append(tallies, of)
	}
	if len(runs) < 2 {
		return "", nil
	}
	var rows [][]string
	for _, t := range trendsOf(runs, tallies) {
		rows = append(rows, t.row())
	}
	return fmt.Sprintf("The last %s, the newest at the right\n%s", ui.Counted(int64(len(runs)), "finished sync"),
		ui.Table([]ui.Column{{}, {}, {Title: "Last", Right: true}, {Title: "To the one before"}}, rows)), nil
}
