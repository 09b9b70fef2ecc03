package runstatus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assetferry/internal/event"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/state"
)

// Outcomes counts the objects of a run by the states of reports.
func Outcomes(tallies []state.Tally) event.Counts {
	counts := event.Counts{}
	for _, t := range tallies {
		counts[report.StateOf(t.Action, t.State)] += t.Objects
	}
	return counts
}

// Took returns the duration of a run, 0 if it has not ended.
func Took(r state.Run) time.Duration {
	if r.FinishedAt.IsZero() {
		return 0
	}
	return r.FinishedAt.Sub(r.StartedAt)
}

// A trend has one number of each of the last syncs, the oldest first.
type trend struct {
	name   string
	values []int64
	text   func(int64) string
}

// trendsOf returns the trends of finished syncs.
func trendsOf(runs []state.Run, tallies [][]state.Tally) []trend {
	seconds := func(n int64) string { return ui.Duration(time.Duration(n) * time.Second) }
	all := []trend{{name: "duration", text: seconds}}
	for _, r := range runs {
		all[0].values = append(all[0].values, int64(Took(r).Round(time.Second).Seconds()))
	}
	for _, word := range []string{"created", "replaced", "metadata_updated", "moved", "trashed", "failed"} {
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

// row returns a row of a table: the chart, the last number, and its difference from the previous one.
func (t trend) row() []string {
	last := len(t.values) - 1
	difference := "="
	switch d := t.values[last] - t.values[last-1]; {
	case d > 0:
		difference = "↑ " + t.text(d)
	case d < 0:
		difference = "↓ " + t.text(-d)
	}
	return []string{strings.ReplaceAll(t.name, "_", " "), ui.Sparkline(t.values), t.text(t.values[last]), difference}
}

// Trends returns a table of the trend of the last finished syncs, given with the newest first; empty
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
	return fmt.Sprintf("Trend of the last %s, the newest on the right\n%s", ui.Counted(int64(len(runs)), "sync"),
		ui.Table([]ui.Column{{}, {}, {Title: "Last", Right: true}, {Title: "Difference"}}, rows)), nil
}
