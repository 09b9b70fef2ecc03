package plan

import (
	"context"
	"errors"

	"assetferry/migrate"
	"assetferry/state"
)

// checking applies the safety checks to a plan.
type checking struct {
	*planning
	held     *heldDeletes
	drifted  *driftCursor
	violated *violations
}

// violations are the safety checks that stop a plan.
type violations struct{ all []*migrate.SafetyCheckError }

// do ends a plan that must not be carried out. In a dry run people want to see it, and
// are reported.
func (g *checking) do(ctx context.Context) error {
	if g.Rules.Sync == nil {
		return nil
	}
	for _, check := range []func(context.Context) error{g.checkContents, g.checkChanges} {
		err := check(ctx)
		if e, ok := errors.AsType[*migrate.SafetyCheckError](err); ok {
			g.violated.all = append(g.violated.all, e)
		} else if err != nil {
			return err
		}
	}
	why := g.held.why
	for _, e := range g.violated.all {
		why = migrate.JoinTexts(e.What, why)
	}
	if why == "" && g.run.Stopped == "" && g.drifted.next == "" {
		return nil
	}
	return g.State.NoteSync(ctx, g.run.Num, why, g.drifted.next)
}

// checkContents checks the contents that would replace those of assets.
func (g *checking) checkContents(ctx context.Context) error {
	replaced, err := g.countPlanned(ctx, state.Replace)
	if err != nil {
		return err
	}
	return g.SafetyChecks.CheckContents(ctx, g.Source, replaced, g.State.Items(ctx, g.run.Num, state.ItemPlanned))
}

// checkChanges counts the assets that would be changed.
func (g *checking) checkChanges(ctx context.Context) error {
	changes, err := g.countPlanned(ctx, state.Replace, state.UpdateMetadata, state.Move)
	if err != nil || changes == 0 {
		return err
	}
	known, err := g.sumKnown(ctx)
	if err != nil {
		return err
	}
	return g.SafetyChecks.CheckChanges(changes, known.Objects)
}
