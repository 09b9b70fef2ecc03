package runstatus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// IsSync reports whether a run is a sync.
func IsSync(r state.Run) (bool, error) {
	if r.Undoes != 0 || r.Command == "plan" {
		return false, nil
	}
	rules, err := migrate.ReadRules(r)
	return rules.Sync != nil, err
}

// GraceEnds returns when the grace period of an object ends that was deleted at the source at a given
// time. It uses the rules of the last finished sync, and is zero if they trash nothing.
func GraceEnds(ctx context.Context, store *state.Store, p state.Pair, since time.Time) (time.Time, error) {
	last, err := store.LastFinished(ctx, p, "sync")
	if errors.Is(err, state.ErrNotFound) {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, err
	}
	rules, err := migrate.ReadRules(last)
	if err != nil || rules.Sync == nil || rules.Sync.Delete != "trash" {
		return time.Time{}, err
	}
	return since.Add(rules.Sync.GracePeriod), nil
}

// SyncLines returns lines about objects that were deleted at the source, grace periods, failing
// objects, and the next steps, which a function returns.
func SyncLines(ctx context.Context, store *state.Store, p state.Pair, runs []state.Run, nextSteps func(state.Run, []state.Tally) ([]string, error)) ([]string, error) {
	at := slices.IndexFunc(runs, func(r state.Run) bool { ok, err := IsSync(r); return ok && err == nil })
	if at < 0 {
		return nil, nil
	}
	last := runs[at]
	standing, err := store.Backlog(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	lines := []string{"Last sync: " + last.StartedAt.Local().Format(time.DateTime) + ", " + string(last.State)}
	if o := standing.Orphans; o.Objects > 0 {
		ends, err := GraceEnds(ctx, store, p, standing.OrphansSince)
		if err != nil {
			return nil, err
		}
		line := fmt.Sprintf("Deleted at the source: %s, %s, the first since %s", ui.Counted(o.Objects, "object"), ui.Bytes(o.Bytes), standing.OrphansSince.Local().Format(time.DateTime))
		switch {
		case ends.IsZero():
			line += "; assets kept"
		case ends.After(clock.Now()):
			line += "; the first grace period ends at " + ends.Local().Format(time.DateTime)
		default:
			line += "; the next sync may trash the first asset"
		}
		lines = append(lines, line)
	}
	if standing.Failing > 0 {
		line := fmt.Sprintf("Failing: %s", ui.Counted(standing.Failing, "object"))
		if !standing.FailingSince.IsZero() {
			line += ", the first since " + standing.FailingSince.Local().Format(time.DateTime)
		}
		lines = append(lines, line)
	}
	tallies, err := store.Tallies(ctx, last.Num)
	if err != nil {
		return nil, err
	}
	steps, err := nextSteps(last, tallies)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		lines = append(lines, "Next: "+step)
	}
	return lines, nil
}
