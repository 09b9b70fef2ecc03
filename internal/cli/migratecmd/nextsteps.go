package migratecmd

import (
	"context"
	"slices"
	"strings"

	"assetferry/internal/cli/command"
	"assetferry/internal/ui"
	"assetferry/migrate"
)

// printNothingMatches says that the patterns leave nothing of a source that has something:
// a mistyped one must not look like a source without work.
func printNothingMatches(f *command.Factory, p migrate.Plan, r migrate.Rules) {
	var filtered, junk, all int64
	for _, t := range p.Tallies {
		all += t.Objects
		switch migrate.Reason(t.Reason) {
		case migrate.ReasonExcluded:
			filtered += t.Objects
		case migrate.ReasonSystemFile:
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
	f.Out.Notef("%s nothing of the %s listed. A pattern is compared with keys relative to SOURCE, case counts, and ** stands for any folders.", which, ui.Counted(all, "object"))
}

// shownCategories is how many categories are named in the place of one that is not there.
const shownCategories = 10

// printNewCategory says that --category names one that is not there: it may be mistyped, and
// everybody will see what is in it.
func printNewCategory(ctx context.Context, f *command.Factory, s *endpoints, p migrate.Plan) error {
	isIt := func(c migrate.NewCategory) bool { return c.Name == s.rules.Category && !c.Private }
	if !slices.ContainsFunc(p.Categories, isIt) {
		return nil
	}
	known, err := s.store.Categories(ctx, s.pair.Destination)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range known {
		names = append(names, ui.Sanitize(c.Name))
	}
	slices.Sort(names)
	there := strings.Join(names[:min(len(names), shownCategories)], ", ")
	f.Out.Notef("There is no category %q: it is to be made, and what is in it will be public. There are: %s", ui.Sanitize(s.rules.Category), there)
	return nil
}
