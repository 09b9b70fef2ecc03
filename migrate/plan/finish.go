package plan

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/state"
)

// finishing ends a plan: it has a hash then, and changes no more.
type finishing struct {
	*planning
	places *placements
}

// do hashes the plan and closes it.
func (f *finishing) do(ctx context.Context) error {
	wanted := []migrate.NewCategory{}
	if f.places.placer != nil {
		still, err := f.stillWanted(ctx)
		if err != nil {
			return err
		}
		wanted = append(wanted, still...)
		if err := f.State.SaveChoices(ctx, f.run.Pair.Destination, f.places.placer.Chosen()); err != nil {
			return err
		}
	}
	hash, err := f.hash(ctx, wanted)
	if err != nil {
		return err
	}
	categories, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	err = f.State.FinishPlan(ctx, f.run.Num, hash, categories, f.counted()...)
	faultpoint.Hit(faultpoint.Planned)
	return err
}

// counted returns the tallies of the items if they are known.
func (f *finishing) counted() []state.Tally {
	if !f.overview.whole {
		return nil
	}
	return f.overview.sums.Tallies()
}

// hash returns the hash of the plan in the state database. A run of an approved plan has the hash
// of that plan.
func (f *finishing) hash(ctx context.Context, wanted []migrate.NewCategory) (string, error) {
	if f.Approval != nil {
		return f.Approval.Hash, nil
	}
	run, err := f.State.Run(ctx, f.run.ID) // including what was listed
	if err != nil {
		return "", err
	}
	if f.overview.whole {
		return f.overview.hash.Sum(f.Head(run, wanted))
	}
	h := migrate.NewPlanHash()
	for i, err := range f.State.Items(ctx, run.Num) {
		if err != nil {
			return "", err
		}
		h.Add(&i)
	}
	return h.Sum(f.Head(run, wanted))
}

// stillWanted returns the categories to create: those of an approved plan that still get objects.
func (f *finishing) stillWanted(ctx context.Context) ([]migrate.NewCategory, error) {
	if f.Approval == nil {
		return f.places.placer.Wanted(), nil
	}
	used := map[string]bool{}
	for i, err := range f.State.Items(ctx, f.run.Num, state.ItemPlanned) {
		if err != nil {
			return nil, err
		}
		if name, ok := strings.CutPrefix(i.Category, migrate.NewPrefix); ok {
			used[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(f.places.placer.Wanted()), func(c migrate.NewCategory) bool { return !used[c.Name] }), nil
}
