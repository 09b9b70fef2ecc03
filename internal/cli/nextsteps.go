package cli

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
		case t.State == state.ItemParked:
			remedies[cmp.Or(remedy, flagname.InText(migrate.ReasonParked.Remedy()))] += t.Objects
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
		{state.ItemFailed, "failed"}, {state.ItemWaiting, "waits"}, {state.ItemChanged, "changed"}, {state.ItemInDoubt, "is in doubt"},
	} {
		if n := counts[s.state]; n > 0 {
			again = append(again, fmt.Sprintf("%s (%s)", s.word, ui.Count(n)))
		}
	}
	if len(again) > 0 {
		lines = append(lines, "run it again for what "+strings.Join(again, ", "))
	}
	for remedy, n := range remedies {
		lines = append(lines, fmt.Sprintf("for %s: %s", count(n, "object"), remedy))
	}
	slices.Sort(lines)
	return lines
}

// stepsAfter gives the next steps after a run.
func stepsAfter(ctx context.Context, journal *state.Store, run state.Run, tallies []state.Tally) ([]string, error) {
	var tooLong int64
	for i, err := range journal.Items(ctx, run.Num, state.ItemFailed) {
		if err != nil {
			return nil, err
		}
		if migrate.IsTooLong(i) {
			tooLong++
		}
	}
	return nextSteps(tallies, tooLong), nil
}

// tellNothingMatches says that the patterns leave nothing of a source that has something:
// a mistyped one must not look like a source without work.
func (a *app) tellNothingMatches(p migrate.Plan, r migrate.Rules) {
	var filtered, junk, all int64
	for _, t := range p.Tallies {
		all += t.Objects
		switch migrate.Reason(t.Reason) {
		case migrate.ReasonFiltered:
			filtered += t.Objects
		case migrate.ReasonJunk:
			junk += t.Objects
		}
	}
	if len(r.Include) == 0 || filtered == 0 || filtered+junk < all {
		return
	}
	which := "--include matches"
	if len(r.Exclude) > 0 {
		which = "--include and --exclude together leave"
	}
	a.out.Notef("%s nothing of the %s listed. A pattern is compared with keys relative to SOURCE, case counts, and ** stands for any folders.", which, count(all, "object"))
}

// shownCategories is how many categories are named in the place of one that is not there.
const shownCategories = 10

// tellNewCategory says that --category names one that is not there: it may be mistyped, and
// everybody will see what is in it.
func (a *app) tellNewCategory(ctx context.Context, s *endpoints, p migrate.Plan) error {
	isIt := func(c migrate.NewCategory) bool { return c.Name == s.rules.Category && !c.Private }
	if !slices.ContainsFunc(p.Categories, isIt) {
		return nil
	}
	known, err := s.journal.Categories(ctx, s.pair.Destination)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range known {
		names = append(names, ui.Sanitize(c.Name))
	}
	slices.Sort(names)
	there := strings.Join(names[:min(len(names), shownCategories)], ", ")
	a.out.Notef("There is no category %q: it is to be made, and what is in it will be public. There are: %s", ui.Sanitize(s.rules.Category), there)
	return nil
}
