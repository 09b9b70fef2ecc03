package migratecmd

import (
	"context"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
)

// runsOfWave is how many runs of a source are searched for those of a wave.
const runsOfWave = 10_000

// undoWave undoes the runs of a wave, the newest first. A preview shows only the newest: an asset
// that two runs changed is a conflict until the later one is undone.
func undoWave(ctx context.Context, f *command.Factory, o undoOptions) error {
	f.Summary = &event.Summary{Command: "undo", Wave: f.Settings.Wave}
	defer f.StartWindow()()
	runs, err := undoableOf(ctx, f)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		f.Out.Printf("Nothing to undo: no run of wave %s has an asset that can be undone.", f.Settings.Wave)
		return nil
	}
	o.run = runs[0].ID
	s, err := openUndo(ctx, f, o)
	if err != nil {
		return err
	}
	if !o.apply || s.dest.Guarded {
		runs = runs[:1]
	}
	worst := error(nil)
	for n, run := range runs {
		if n > 0 {
			f.Out.Event("summary", *f.Summary)
		}
		o.run = run.ID
		if err := undoIn(ctx, f, s, o); err != nil && !exit.IsSaid(err) {
			return err
		} else if err != nil {
			worst = err
		}
	}
	return worst
}

// undoableOf lists the runs of the chosen wave that an undo would change, the newest first.
func undoableOf(ctx context.Context, f *command.Factory) (found []state.Run, err error) {
	store, err := f.ReadState(ctx)
	if err != nil {
		return nil, err
	}
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		runs, err := store.RunsOf(ctx, p.ID, runsOfWave)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if r.Pair.Wave != f.Settings.Wave || r.Undoes != 0 || r.Command == "plan" {
				continue
			}
			if undoable, err := store.IsUndoable(ctx, r); err != nil {
				return nil, err
			} else if undoable {
				found = append(found, r)
			}
		}
	}
	if len(found) > 0 {
		f.Out.Notef("Wave %s has %s to undo.", f.Settings.Wave, ui.Counted(int64(len(found)), "run"))
	}
	return found, nil
}
