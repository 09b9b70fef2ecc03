package plan

import (
	"context"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/plan/placement"
	"assetferry/sources"
	"assetferry/state"
)

// placements finds the places of objects at the destination, and counts the objects by place.
type placements struct {
	*planning
	placer     *placement.Placer      // nil until an object has to be placed
	containers map[migrate.Place]bool // containers of objects, without names
	creates    int                    // objects that will be sent
	limits     assets.Limits          // of the destination, if read
}

// need reads the limits of the destination once an object has to be placed: a run without changes
// sends no such request.
func (p *placements) need(ctx context.Context) error {
	if p.placer != nil {
		return nil
	}
	there, err := migrate.Categories(ctx, p.Dest)
	if err != nil {
		return err
	}
	if err := migrate.SaveCategories(ctx, p.State, p.run.Pair.Destination, there); err != nil {
		return err
	}
	choices, err := p.State.Choices(ctx, p.run.Pair.Destination)
	if err != nil {
		return err
	}
	if p.limits, err = p.Dest.Limits(ctx); err != nil {
		return err
	}
	var structure []sources.Category
	if s, ok := p.Source.(sources.Structured); ok {
		if structure, err = s.Structure(ctx); err != nil {
			return err
		}
	}
	o := placement.Options{Rules: p.Rules, Mapping: p.Mapping, There: there, Structure: structure, Choices: choices, MaxSize: p.limits.MaxFileSize}
	if p.Approval != nil {
		o.Approved, o.IsFixed = p.Approval.Categories, true
	}
	p.placer = placement.New(o)
	return nil
}

// admit counts an upload to a place, unless the limit is reached.
func (p *placements) admit(place placement.Spot, why migrate.Reason) (state.Action, migrate.Reason) {
	if !why.StopsRetries() {
		if p.Approval == nil && p.Rules.Limit > 0 && p.creates >= p.Rules.Limit {
			return state.Skip, migrate.ReasonLimit
		}
		p.creates++
		p.placer.Use(place)
	}
	p.containers[migrate.Place{Category: place.Category, Folder: place.Folder}] = true
	return state.Create, why
}

// withdraw counts one object less that will be sent.
func (p *placements) withdraw() { p.creates-- }
