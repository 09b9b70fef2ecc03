package outcome

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// nextSteps says what helps with the items of a run that did not arrive: a line for each
// way out, with how many it is for. Of what failed, so many have a text that is too long.
func nextSteps(tallies []state.Tally, tooLong int64) (lines []string) {
	var again []string
	counts := map[state.ItemState]int64{}
	remedies := map[string]int64{} // for what running again does not help
	for _, t := range tallies {
		remedy := flagname.InText(migrate.Reason(t.Reason).Remedy())
		switch {
		case t.State == state.ItemRetriesExhausted:
			remedies[cmp.Or(remedy, flagname.InText(migrate.ReasonRetriesExhausted.Remedy()))] += t.Objects
		case t.State == state.ItemConflict, (t.State == state.ItemFailed || t.State == state.ItemChanged) && remedy != "":
			remedies[remedy] += t.Objects
		default:
			counts[t.State] += t.Objects
		}
	}
	if tooLong > 0 {
		counts[state.ItemFailed] -= tooLong
		remedies[flagname.InText(migrate.TooLongRemedy())] = tooLong
	}
	for _, s := range []struct {
		state state.ItemState
		word  string
	}{
		{state.ItemFailed, "failed"}, {state.ItemRetryScheduled, "waits"}, {state.ItemChanged, "changed"}, {state.ItemUnconfirmed, "is in doubt"},
	} {
		if n := counts[s.state]; n > 0 {
			again = append(again, fmt.Sprintf("%s (%s)", s.word, ui.Count(n)))
		}
	}
	if len(again) > 0 {
		lines = append(lines, "run it again for what "+strings.Join(again, ", "))
	}
	for remedy, n := range remedies {
		lines = append(lines, fmt.Sprintf("for %s: %s", ui.Counted(n, "object"), remedy))
	}
	slices.Sort(lines)
	return lines
}

// StepsAfter gives the next steps after a run.
func StepsAfter(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) ([]string, error) {
	var tooLong int64
	for i, err := range store.Items(ctx, run.Num, state.ItemFailed) {
		if err != nil {
			return nil, err
		}
		if migrate.IsTooLong(i) {
			tooLong++
		}
	}
	return nextSteps(tallies, tooLong), nil
}
