package migrate

import (
	"context"
	"encoding/json"
	"fmt"

	"assetferry/state"
)

// IsNarrow reports whether the rules select only a part of the source, so that objects outside of
// it may be missing. Rules that exclude objects by name are a decision and do not count.
func (r Rules) IsNarrow() bool {
	return r.takesPart() || r.Sync != nil && r.Sync.Failed != nil
}

func (r Rules) takesPart() bool {
	return len(r.Include) > 0 || r.FilesFrom != nil || r.Limit > 0 || r.AdoptOnly
}

// Retries reports whether the rules select exactly the objects that failed before.
func (r Rules) Retries() bool { return r.Sync != nil && r.Sync.Failed != nil && !r.takesPart() }

// ReadRules returns the rules that a run was planned with.
func ReadRules(run state.Run) (r Rules, err error) {
	if err := json.Unmarshal(run.Rules, &r); err != nil {
		return r, fmt.Errorf("read rules of run %s: %w", run.ID, err)
	}
	return r, nil
}

// A History is the part of a state database that CountIncomplete needs.
type History interface {
	RunsOf(ctx context.Context, pair int64, limit int) ([]state.Run, error)
	CountIncomplete(ctx context.Context, pair, from, retried int64) (int64, error)
}

// lookBack is the number of runs among which the last complete one is searched.
const lookBack = 200

// CountIncomplete counts the objects of a pair that failed in the last run of the whole source, or
// in one since, and that no run has uploaded since. A run of a few objects must not hide the
// others.
func CountIncomplete(ctx context.Context, j History, pair state.Pair) (int64, error) {
	from, retried, err := LastWhole(ctx, j, pair)
	if err != nil {
		return 0, err
	}
	return j.CountIncomplete(ctx, pair.ID, from, retried)
}

// LastWhole returns the number of the last run of a pair that covered its whole wave, or of the
// first run that covered anything. retried is the last run since that tried all failures again, or
// the same number: older runs can only have items that need a decision.
func LastWhole(ctx context.Context, j History, pair state.Pair) (from, retried int64, err error) {
	runs, err := j.RunsOf(ctx, pair.ID, lookBack)
	if err != nil {
		return 0, 0, err
	}
	undone := map[int64]bool{} // runs that count as if they had not been
	for _, r := range runs {   // the newest first
		if r.State == state.Finished {
			undone[r.Undoes] = true
		}
		if r.Command == "plan" || r.Open() && r.State != state.Applying || r.Undoes != 0 || undone[r.Num] || !r.Pair.Meets(pair) || !r.Scanned || r.Stopped != "" && r.State != state.Finished {
			continue
		}
		from = r.Num
		rules, err := ReadRules(r)
		if err != nil {
			return 0, 0, err
		}
		if rules.Retries() && r.State == state.Finished {
			retried = max(retried, r.Num)
		}
		if !rules.IsNarrow() && (r.Pair.Wave == "" || r.Pair.Wave == pair.Wave) {
			break
		}
	}
	return from, max(from, retried), nil
}
