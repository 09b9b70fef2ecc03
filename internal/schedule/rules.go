package schedule

import (
	"context"
	"slices"

	"assetferry/migrate"
	"assetferry/state"
)

// lookBack is the number of runs of a source that are searched for the last comparable one.
const lookBack = 1000

// ComparedSettings returns the settings that are not rules, but decide what a sync reads or writes,
// or limit it. They must be those of the last run, too: without its sentinel, or with a higher limit,
// a sync is another one.
func ComparedSettings() []string {
	return []string{"metadata", "provenance", "sentinel", "max_delete", "max_delete_percent", "max_changes", "max_changes_percent", "drift_share",
		"endpoint", "s3_anonymous", "s3_tags", "table_columns", "table_root", "table_check", "wordpress_folders", "rclone"}
}

// LastRun returns the run whose rules a scheduled sync must share: the last sync of the pair and its
// wave, or without one the last migration. Without either its number is 0.
func LastRun(ctx context.Context, store *state.Store, pair state.Pair) (last state.Run, err error) {
	runs, err := store.RunsOf(ctx, pair.ID, lookBack)
	if err != nil {
		return last, err
	}
	for _, commands := range [][]string{{"sync"}, {"migrate", "apply"}} {
		for _, r := range runs { // newest first
			if slices.Contains(commands, r.Command) && r.Pair.Wave == pair.Wave && r.Undoes == 0 && (r.State == state.Applying || r.State == state.Finished) {
				return r, nil
			}
		}
	}
	return last, nil
}

// Lasting returns rules without the flags for a single run.
func Lasting(r migrate.Rules) migrate.Rules {
	r.Limit, r.AdoptOnly = 0, false
	if r.Sync != nil {
		s := *r.Sync
		s.Checksum, s.Repair, s.RefreshMetadata, s.Failed = false, false, false, nil
		r.Sync = &s
	}
	return r
}
