package migratecmd

import (
	"context"
	"strings"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
)

// runsOfWave is how many runs of a source are searched for those of a wave.
const runsOfWave = 10_000

// undoWave undoes the runs of a wave, the newest first. A preview shows all of them. Approvals are
// for one run each.
func undoWave(ctx context.Context, f *command.Factory, o undoOptions) error {
	f.Summary = &event.Summary{Command: "undo", Wave: f.Settings.Wave}
	defer f.StartWindow()()
	runs, others, err := undoableOf(ctx, f)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		f.Out.Printf("Nothing to undo: no run of wave %s has an asset that can be undone.", f.Settings.Wave)
		return nil
	}
	o.run, o.wave = runs[0].ID, true
	s, err := openUndo(ctx, f, o)
	if err != nil {
		return err
	}
	left := runs
	if o.apply && s.dest.Guarded {
		runs = runs[:1]
	}
	worst, work := error(nil), false
	for n, run := range runs {
		if n > 0 {
			f.Out.Event("summary", *f.Summary)
		}
		o.run, o.afterLater = run.ID, !o.apply && n > 0 && run.Num > others[run.Pair.ID]
		if err := undoIn(ctx, f, s, o); err != nil && !exit.IsSaid(err) {
			showLeft(f, left)
			return err
		} else if err != nil {
			worst = err
		}
		left, work = left[1:], work || f.Summary.States[string(state.ItemPlanned)] > 0
	}
	switch {
	case o.apply:
		showLeft(f, left)
	case work:
		f.Out.Next("Undo the runs of the wave:", f.Again("undo", nil, "--apply"))
	}
	return worst
}

// showLeft names the runs that are not undone.
func showLeft(f *command.Factory, left []state.Run) {
	if len(left) == 0 {
		return
	}
	ids := make([]string, len(left))
	for n, r := range left {
		ids[n] = r.ID
	}
	f.Out.Notef("%s of wave %s not undone: %s. To go on:\n  %s", ui.CountedAs(int64(len(left)), "run", "runs"), f.Settings.Wave, strings.Join(ids, ", "), f.Again("undo", nil))
}

// undoableOf lists the runs of the chosen wave that an undo would change, the newest first, and for
// each source the number of the newest other run with such assets.
func undoableOf(ctx context.Context, f *command.Factory) (found []state.Run, others map[int64]int64, err error) {
	others = map[int64]int64{}
	store, err := f.ReadState(ctx)
	if err != nil {
		return nil, nil, err
	}
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range pairs {
		runs, err := store.RunsOf(ctx, p.ID, runsOfWave)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range runs {
			ofWave := r.Pair.Wave == f.Settings.Wave
			if r.Undoes != 0 || r.Command == "plan" || !ofWave && others[p.ID] > 0 {
				continue
			}
			undoable, err := store.IsUndoable(ctx, r)
			switch {
			case err != nil:
				return nil, nil, err
			case undoable && ofWave:
				found = append(found, r)
			case undoable:
				others[p.ID] = r.Num
			}
		}
	}
	if len(found) > 0 {
		f.Out.Notef("Wave %s has %s to undo.", f.Settings.Wave, ui.Counted(int64(len(found)), "run"))
	}
	return found, others, nil
}
