package apply

import (
	"context"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/state"
)

// end finishes a run without remaining work.
func (a *Applier) end(ctx context.Context) error {
	err := a.finishRun(ctx)
	faultpoint.Hit(faultpoint.Finished)
	return err
}

func (a *Applier) finishRun(ctx context.Context) error {
	if err := a.leaveSidecars(ctx); err != nil {
		return err
	}
	if a.rules.Sync == nil {
		return a.State.FinishRun(ctx, a.run.Num)
	}
	e := state.Ending{Touched: string(migrate.ReasonOnlyVersionChanged), Retried: a.rules.Retries()}
	if a.rules.FollowsDeletions() {
		e.Absent = string(migrate.ObstacleAbsent)
		var err error
		if e.Remapped, err = a.IsRemapped(ctx, a.run, a.rules); err != nil {
			return err
		}
	}
	return a.State.FinishSync(ctx, a.run, e)
}
