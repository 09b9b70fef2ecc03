package schedule

import (
	"context"
	"slices"

	"assetferry/migrate"
	"assetferry/state"
)

// lookBack is how many runs of a source are searched for the last one that a
// schedule can be compared with.
const lookBack = 1000

// ComparedSettings are the settings that are no rules, but decide what a sync reads, writes
// or may do at most. A schedule must have those of the last run, too: a sync without its
// sentinel or with a higher limit is another one.
func ComparedSettings() []string {
	return []string{"metadata", "provenance", "sentinel", "max_delete", "max_delete_percent", "max_changes", "max_changes_percent", "drift_share",
		"endpoint", "s3_anonymous", "s3_tags", "table_columns", "table_root", "table_check"}
}

// LastRun is the run whose rules a scheduled sync has to share: the last sync, with
// which sync itself compares them, or the last migration if there was none. Without either
// its number is 0.
func LastRun(ctx context.Context, store *state.Store, pair state.Pair) (last state.Run, err error) {
	runs, err := store.RunsOf(ctx, pair.ID, lookBack)
	if err != nil {
		return last, err
	}
	for _, commands := range [][]string{{"sync"}, {"migrate", "apply"}} {
		for _, r := range runs { // newest first
			if slices.Contains(commands, r.Command) && r.Undoes == 0 && (r.State == state.Applying || r.State == state.Finished) {
				return r, nil
			}
		}
	}
	return last, nil
}

// Lasting are rules without what was asked for in one run only.
func Lasting(r migrate.Rules) migrate.Rules {
	r.Limit, r.AdoptOnly = 0, false
	if r.Sync != nil {
		s := *r.Sync
		s.Checksum, s.Repair, s.RefreshMetadata, s.Failed = false, false, false, nil
		r.Sync = &s
	}
	return r
}
