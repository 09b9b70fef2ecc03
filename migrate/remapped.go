package migrate

import (
	"context"

	"assetferry/state"
)

// IsRemapped reports whether assets may have metadata by other rules: a run since the last complete
// sync had other rules, or was on another day if they depend on it, and was not undone. Objects that such a sync did not update lack metadata;
// see state.Ending.
func (d Deps) IsRemapped(ctx context.Context, run state.Run, rules Rules) (bool, error) {
	if rules.Sync == nil {
		return false, nil
	}
	runs, err := d.State.RunsOf(ctx, run.Pair.ID, lookBack)
	if err != nil {
		return false, err
	}
	undone := map[int64]bool{}
	for _, r := range runs { // the newest first
		if r.Undoes != 0 {
			undone[r.Undoes] = true
		}
		if r.Num == run.Num || r.Undoes != 0 || !r.Pair.Meets(run.Pair) {
			continue
		}
		was, err := ReadRules(r)
		if err != nil || was.Mapping != rules.Mapping || was.Day != rules.Day {
			return true, err
		}
		if r.Command == SyncCommand && r.State == state.Finished && was.FollowsDeletions() && !undone[r.Num] {
			return false, nil
		}
	}
	return false, nil
}
