package migrate

import (
	"context"

	"assetferry/internal/faultpoint"
	"assetferry/state"
)

// end finishes the run, in which nothing is left to do.
func (a *Applier) end(ctx context.Context) error {
	err := a.finishRun(ctx)
	faultpoint.Hit(faultpoint.Finished)
	return err
}

func (a *Applier) finishRun(ctx context.Context) error {
	if a.rules.Sync == nil {
		return a.Journal.FinishRun(ctx, a.run.Num)
	}
	e := state.Ending{Touched: string(ReasonSeeming)}
	if a.rules.looksForAll() {
		e.Absent = string(absent)
	}
	var err error
	if e.Drift, err = a.driftReached(ctx); err != nil {
		return err
	}
	return a.Journal.FinishSync(ctx, a.run, e)
}

// looksForAll reports whether a run would have found every object that is at the source, so
// that those which it did not find are gone.
func (r Rules) looksForAll() bool {
	return r.FilesFrom == nil && (r.Sync == nil || r.Sync.Failed == nil)
}

// driftReached is the key up to which this run compared receipts with the destination.
func (a *Applier) driftReached(ctx context.Context) (string, error) {
	return a.Journal.DriftCursor(ctx, a.run.Pair.ID)
}
