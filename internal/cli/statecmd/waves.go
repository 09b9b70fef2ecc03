package statecmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// runsOfWaves is how many runs of a source are searched for those of waves.
const runsOfWaves = 10_000

// commandOf returns the command of a run, with its wave.
func commandOf(r state.Run) string {
	if r.Pair.Wave == "" {
		return r.Command
	}
	return r.Command + " --wave " + r.Pair.Wave
}

// A waveStatus is a wave with its runs and its assets.
type waveStatus struct {
	*migrate.Wave
	runs                      []state.Run // newest first
	objects, bytes            int64
	verified, changedInFreeze int64
}

// showWaves shows all waves of a source on one screen, if its runs have waves.
func showWaves(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair, atWork bool) error {
	all, err := wavesOf(ctx, f, store, p)
	if err != nil || len(all) == 0 {
		return err
	}
	for is, err := range store.Standings(ctx, p.ID) {
		if err != nil {
			return err
		}
		for _, w := range all {
			w.add(is)
		}
	}
	var rows [][]string
	for _, w := range all {
		e, err := w.event(ctx, store, p, atWork)
		if err != nil {
			return err
		}
		f.Out.Event("wave", e)
		rows = append(rows, w.row(e))
	}
	columns := []ui.Column{
		{Title: "Wave"}, {Title: "Stage"}, {Title: "Assets", Right: true}, {Title: "Size", Right: true}, {Title: "Last run"},
		{Title: "Verified", Right: true}, {Title: "Approved by"}, {Title: "Freeze"}, {Title: "Changed since", Right: true},
	}
	for _, optional := range []int{8, 7, 6} { // empty in most libraries
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[optional] != "" && row[optional] != "0" }) {
			columns = slices.Delete(columns, optional, optional+1)
			for n := range rows {
				rows[n] = slices.Delete(rows[n], optional, optional+1)
			}
		}
	}
	f.Out.Printf("  %s", strings.ReplaceAll(strings.TrimSuffix(ui.Table(columns, rows), "\n"), "\n", "\n  "))
	return nil
}

// row returns the wave as a row of the table.
func (w *waveStatus) row(e event.Wave) []string {
	last, freeze := "", ""
	if len(w.runs) > 0 {
		last = w.runs[0].StartedAt.Local().Format(time.DateTime)
	}
	if !w.Freeze.IsZero() {
		freeze = w.Freeze.Local().Format("2006-01-02 15:04")
	}
	return []string{w.Name, strings.ReplaceAll(e.Stage, "_", " "), ui.Count(w.objects), ui.Bytes(w.bytes), last, ui.Count(w.verified), e.ApprovedBy, freeze, ui.Count(w.changedInFreeze)}
}

// wavesOf returns the waves that the runs of a pair have, and the others of the configuration. A wave
// is defined by the configuration, or else by its last run.
func wavesOf(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair) (all []*waveStatus, err error) {
	runs, err := store.RunsOf(ctx, p.ID, runsOfWaves)
	if err != nil {
		return nil, err
	}
	configured, err := f.Waves()
	if err != nil {
		return nil, err
	}
	for _, w := range configured {
		all = append(all, &waveStatus{Wave: w})
	}
	known, undos := 0, map[string][]state.Run{} // of waves that are not in the configuration
	for _, r := range runs {
		if r.Pair.Wave == "" {
			continue
		}
		known++
		at := slices.IndexFunc(all, func(w *waveStatus) bool { return w.Name == r.Pair.Wave })
		if at < 0 {
			rules, err := migrate.ReadRules(r)
			if err != nil {
				return nil, err
			}
			if rules.Wave == nil { // an undo; the undone run is older
				undos[r.Pair.Wave] = append(undos[r.Pair.Wave], r)
				continue
			}
			at = len(all)
			all = append(all, &waveStatus{Wave: rules.Wave, runs: undos[r.Pair.Wave]})
		}
		all[at].runs = append(all[at].runs, r)
	}
	if known == 0 { // another source than that of the waves
		return nil, nil
	}
	return all, nil
}

// add counts an object if it belongs to the wave.
func (w *waveStatus) add(is state.Standing) {
	if !w.HasKey(is.Key) {
		return
	}
	w.objects, w.bytes = w.objects+1, w.bytes+is.Size
	if is.Verified {
		w.verified++
	}
	if w.IsFrozen(is.Object) {
		w.changedInFreeze++
	}
}

func (w *waveStatus) event(ctx context.Context, store *state.Store, p state.Pair, atWork bool) (e event.Wave, err error) {
	e = event.Wave{
		Wave: w.Name, Source: p.Source, Objects: w.objects, Bytes: w.bytes, Verified: w.verified, ChangedAfterFreeze: w.changedInFreeze,
	}
	if !w.Freeze.IsZero() {
		e.Freeze = w.Freeze.Format(time.RFC3339)
	}
	if len(w.runs) > 0 {
		e.Run = w.runs[0].ID
	}
	if at := slices.IndexFunc(w.runs, func(r state.Run) bool { return r.Approver.Name != "" }); at >= 0 {
		e.ApprovedBy = w.runs[at].Approver.Name
	}
	e.Stage, err = w.stage(ctx, store, atWork)
	return e, err
}

// stage returns the stage of the wave, by its newest run that is more than a plan.
func (w *waveStatus) stage(ctx context.Context, store *state.Store, atWork bool) (string, error) {
	at := slices.IndexFunc(w.runs, func(r state.Run) bool { return r.Command != "plan" })
	switch {
	case len(w.runs) == 0:
		return "not_planned", nil
	case at < 0:
		return "planned", nil
	}
	last := w.runs[at]
	tallies, err := store.Tallies(ctx, last.Num)
	if err != nil {
		return "", err
	}
	switch {
	case isStopped(last, atWork):
		return "stopped", nil
	case last.Open():
		return "running", nil
	case last.Undoes != 0:
		return "undone", nil
	case outcome.ExitOf(tallies) != exit.CodeDone || last.State != state.Finished:
		return "incomplete", nil
	case w.objects > 0 && w.verified == w.objects:
		return "verified", nil
	}
	return "migrated", nil
}
