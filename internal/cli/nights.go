package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// isSync reports whether a run keeps a destination in step with its source.
func isSync(r state.Run) (bool, error) {
	if r.Undoes != 0 || r.Command == "plan" {
		return false, nil
	}
	rules, err := migrate.ReadRules(r)
	return rules.Sync != nil, err
}

// quarantineEnds is when an asset may be trashed whose object is gone since a time, by the
// rules of the last finished sync; zero if they trash nothing.
func quarantineEnds(ctx context.Context, journal *state.Store, p state.Pair, since time.Time) (time.Time, error) {
	last, err := journal.LastFinished(ctx, p.ID, "sync")
	if errors.Is(err, state.ErrNotFound) {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, err
	}
	rules, err := migrate.ReadRules(last)
	if err != nil || rules.Sync == nil || rules.Sync.Delete != "trash" {
		return time.Time{}, err
	}
	return since.Add(rules.Sync.Quarantine), nil
}

// outcomes counts the objects of a run by what became of them, in the words of reports.
func outcomes(tallies []state.Tally) event.Counts {
	counts := event.Counts{}
	for _, t := range tallies {
		counts[report.Told(t.Action, t.State)] += t.Objects
	}
	return counts
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
		all[0].values = append(all[0].values, int64(tookOf(r).Round(time.Second).Seconds()))
	}
	for _, word := range []string{"created", "replaced", "described", "moved", "trashed", "failed"} {
		t := trend{name: word, text: ui.Count}
		for _, of := range tallies {
			t.values = append(t.values, outcomes(of)[word])
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

// showTrends shows how the last finished syncs of a pair compare, given with the newest first.
func (a *app) showTrends(ctx context.Context, journal *state.Store, newestFirst []state.Run) error {
	var runs []state.Run
	var tallies [][]state.Tally
	for _, r := range slices.Backward(newestFirst) {
		if ok, err := isSync(r); err != nil {
			return err
		} else if !ok || r.State != state.Finished {
			continue
		}
		of, err := journal.Tallies(ctx, r.Num)
		if err != nil {
			return err
		}
		runs, tallies = append(runs, r), append(tallies, of)
	}
	if len(runs) < 2 {
		return nil
	}
	var rows [][]string
	for _, t := range trendsOf(runs, tallies) {
		rows = append(rows, t.row())
	}
	a.out.Printf("The last %s, the newest at the right\n%s", count(int64(len(runs)), "finished sync"),
		ui.Table([]ui.Column{{}, {}, {Title: "Last", Right: true}, {Title: "To the one before"}}, rows))
	return nil
}

// showSync tells in a few lines what syncs leave to be looked after: orphans, what is in
// quarantine, what fails, and the next steps.
func (a *app) showSync(ctx context.Context, journal *state.Store, p state.Pair, runs []state.Run) error {
	at := slices.IndexFunc(runs, func(r state.Run) bool { ok, err := isSync(r); return ok && err == nil })
	if at < 0 {
		return nil
	}
	last := runs[at]
	standing, err := journal.Standing(ctx, p.ID)
	if err != nil {
		return err
	}
	lines := []string{"last sync " + last.StartedAt.Local().Format(time.DateTime) + ", " + string(last.State)}
	if o := standing.Orphans; o.Objects > 0 {
		ends, err := quarantineEnds(ctx, journal, p, standing.OrphansSince)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("gone from the source: %s, %s, the first since %s", count(o.Objects, "object"), ui.Bytes(o.Bytes), standing.OrphansSince.Local().Format(time.DateTime))
		switch {
		case ends.IsZero():
			line += "; their assets stay"
		case ends.After(clock.Now()):
			line += "; in quarantine, the first until " + ends.Local().Format(time.DateTime)
		default:
			line += "; the next sync may trash the first"
		}
		lines = append(lines, line)
	}
	if standing.Failing > 0 {
		line := fmt.Sprintf("failing: %s", count(standing.Failing, "object"))
		if !standing.FailingSince.IsZero() {
			line += ", the first since " + standing.FailingSince.Local().Format(time.DateTime)
		}
		lines = append(lines, line)
	}
	tallies, err := journal.Tallies(ctx, last.Num)
	if err != nil {
		return err
	}
	steps, err := stepsAfter(ctx, journal, last, tallies)
	if err != nil {
		return err
	}
	for _, step := range steps {
		lines = append(lines, "next: "+step)
	}
	for _, line := range lines {
		a.out.Printf("  %s", line)
	}
	return nil
}
