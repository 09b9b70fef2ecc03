package outcome

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// retries counts the items that another run tries again, in words: "2 failed, 1 scheduled for
// retry". hopeless counts the failed items that a retry does not help, by remedy.
func retries(tallies []state.Tally, hopeless map[string]int64) string {
	counts := map[state.ItemState]int64{}
	for _, n := range hopeless {
		counts[state.ItemFailed] -= n
	}
	for _, t := range tallies {
		if needsRemedy(t) == "" {
			counts[t.State] += t.Objects
		}
	}
	var parts []string
	for _, s := range []state.ItemState{state.ItemFailed, state.ItemRetryScheduled, state.ItemChanged, state.ItemUnconfirmed} {
		if n := counts[s]; n > 0 {
			parts = append(parts, ui.Count(n)+" "+stateWords[s])
		}
	}
	return strings.Join(parts, ", ")
}

// needsRemedy returns what a person can do about items that another run does not bring; "" for
// all others.
func needsRemedy(t state.Tally) string {
	remedy := flagname.InText(migrate.Reason(t.Reason).Remedy())
	switch t.State {
	case state.ItemRetriesExhausted:
		return cmp.Or(remedy, flagname.InText(migrate.ReasonRetriesExhausted.Remedy()))
	case state.ItemConflict, state.ItemFailed, state.ItemChanged:
		return remedy
	}
	return ""
}

// remedies returns a line for each remedy, with the number of objects that need it.
func remedies(tallies []state.Tally, hopeless map[string]int64) (lines []string) {
	objects := maps.Clone(hopeless)
	if objects == nil {
		objects = map[string]int64{}
	}
	for _, t := range tallies {
		if remedy := needsRemedy(t); remedy != "" {
			objects[remedy] += t.Objects
		}
	}
	for remedy, n := range objects {
		lines = append(lines, fmt.Sprintf("for %s: %s", ui.Counted(n, "object"), remedy))
	}
	slices.Sort(lines)
	return lines
}

// StepsAfter returns the steps after a run: a line for each remedy, then what to run again.
func StepsAfter(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) (lines []string, err error) {
	hopeless, err := countHopeless(ctx, store, run)
	if err != nil {
		return nil, err
	}
	lines = remedies(tallies, hopeless)
	if again := retries(tallies, hopeless); again != "" {
		lines = append(lines, "run the same command again: "+again)
	}
	return lines, nil
}

// RemediesAfter returns what a person can do after a run, besides running it again.
func RemediesAfter(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) ([]string, error) {
	hopeless, err := countHopeless(ctx, store, run)
	return remedies(tallies, hopeless), err
}

// countHopeless counts the failed items that fail again in another run, by remedy.
func countHopeless(ctx context.Context, store *state.Store, run state.Run) (map[string]int64, error) {
	counts := map[string]int64{}
	for i, err := range store.Items(ctx, run.Num, state.ItemFailed) {
		if err != nil {
			return counts, err
		}
		if remedy := migrate.FailureRemedy(i); remedy != "" {
			counts[flagname.InText(remedy)]++
		}
	}
	return counts, nil
}
