package migratecmd

import (
	"context"
	"slices"
	"strings"

	"assetferry/internal/cli/command"
	"assetferry/internal/ui"
	"assetferry/migrate"
)

// printNothingMatches warns if the patterns exclude every object: a typo must not look like a
// source without work.
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
	which := "--include"
	if len(r.Exclude) > 0 {
		which = "--include and --exclude"
	}
	f.Out.Notef("None of %s match %s. Patterns match keys relative to SOURCE, are case-sensitive, and ** matches any folders.", ui.Counted(all, "object"), which)
}

// shownCategories is the number of existing categories that are listed.
const shownCategories = 5

// printNewCategory warns if --category names a category that does not exist: the name may have a
// typo, and the new category is public.
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
	existing := strings.Join(names[:min(len(names), shownCategories)], ", ")
	f.Out.Notef("Category %q does not exist. It would be created, and its assets would be public. Existing categories: %s", ui.Sanitize(s.rules.Category), existing)
	return nil
}
