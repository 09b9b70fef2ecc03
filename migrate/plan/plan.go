// Package plan decides which action is necessary for every object and why, and stores the
// decisions. It lists the source, reads the state database and the destination, and ends with the
// hash of the plan.
//
// A plan is made in passes. Each pass is a type in a file of its own; passes.go lists them in their
// order, with what each reads and writes. The first pass lists the source (scan.go) and compares it
// with the state database (history.go). A decider decides about one object (decider.go), and
// decisions store the result (planning.go).
//
// The packages below answer questions of the passes: where an object goes (placement), which
// objects are identical (identical), what a sync must not do (safety), and which rows belong to the
// current object of a listing (merge).
//
// A Planner can only read the destination: this package does not import what writes to it, so a dry
// run cannot write even by mistake.
package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// Plan lists the source unless the run has done so, decides, stores the decisions, and returns the
// plan. A plan that a safety check stops is no error: see migrate.Plan.Guarded.
func (p *Planner) Plan(ctx context.Context, run state.Run) (migrate.Plan, error) {
	run, err := p.State.Run(ctx, run.ID) // the present state: an old cursor would count objects twice
	if err != nil {
		return migrate.Plan{}, err
	}
	if run.State == state.Scanning && p.Rules.Sync != nil && run.Cursor != "" {
		// The findings of an earlier process, such as unreadable folders, are unknown here.
		if err := p.State.Relist(ctx, run.Num); err != nil {
			return migrate.Plan{}, err
		}
		if run, err = p.State.Run(ctx, run.ID); err != nil {
			return migrate.Plan{}, err
		}
	}
	shared := &planning{Planner: p, run: run, started: p.Now()}
	if shared.remapped, err = p.IsRemapped(ctx, run, p.Rules); err != nil {
		return migrate.Plan{}, err
	}
	if err := shared.checkOtherWaves(ctx); err != nil {
		return migrate.Plan{}, err
	}
	found := newHandover(shared)
	if err := p.SafetyChecks.CheckRules(ctx, p.State, run, p.Rules); err != nil {
		e, guarded := errors.AsType[*migrate.SafetyCheckError](err)
		if !guarded {
			return migrate.Plan{}, err
		}
		found.violated.all = append(found.violated.all, e)
	}
	if run.State == state.Scanning || run.State == state.Planning {
		err := shared.decide(ctx, found)
		if e, overtaken := errors.AsType[*supersededError](err); overtaken {
			return p.planAgain(ctx, run, e.key)
		} else if err != nil {
			return migrate.Plan{}, err
		}
	}
	plan, err := p.summary(ctx, run.ID)
	plan.FailedChecks, plan.Drift, plan.DuplicateNames = found.violated.all, string(found.cursor.next), found.doubled.Load()
	plan.AsStaged, plan.Forgotten = shared.overview.whole, shared.forgotten
	if run.Cursor == "" { // else another process has listed a part
		plan.Waves = shared.waves
	}
	plan.Deleted, plan.Limits = found.deleted.objects, found.places.limits
	return plan, err
}

// decide lists the source and decides about every object. It may be repeated after a crash: the
// same listing leads to the same decisions.
func (p *planning) decide(ctx context.Context, found *handover) error {
	for _, pass := range p.passes(found) {
		if err := pass.step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// summary reads the plan from the state database, so that a resumed plan has the same summary as
// when it was made.
func (p *Planner) summary(ctx context.Context, id string) (migrate.Plan, error) {
	run, err := p.State.Run(ctx, id)
	if err != nil {
		return migrate.Plan{}, err
	}
	plan := migrate.Plan{Run: run}
	if err := json.Unmarshal(run.Categories, &plan.Categories); err != nil {
		return migrate.Plan{}, fmt.Errorf("read plan: %w", err)
	}
	if plan.Tallies, err = p.State.Tallies(ctx, run.Num); err != nil {
		return migrate.Plan{}, err
	}
	plan.Renamed = countOf(plan.Tallies, migrate.ReasonRenamed)
	if countOf(plan.Tallies, migrate.ReasonUnreadable) > 0 {
		if err := p.countHidden(ctx, &plan); err != nil {
			return migrate.Plan{}, err
		}
	}
	if countOf(plan.Tallies, migrate.ReasonUnsupportedType) > 0 {
		return plan, p.countUnsupported(ctx, &plan)
	}
	return plan, nil
}

func (p *Planner) countHidden(ctx context.Context, plan *migrate.Plan) error {
	for i, err := range p.State.Items(ctx, plan.Run.Num, state.ItemFailed) {
		if err != nil {
			return err
		}
		if i.Obstacle.HidesObjects() {
			plan.Hidden++
		}
	}
	return nil
}

func (p *Planner) countUnsupported(ctx context.Context, plan *migrate.Plan) error {
	tallies := map[string]migrate.ExtensionTally{}
	for i, err := range p.State.Items(ctx, plan.Run.Num, state.ItemSkipped) {
		if err != nil {
			return err
		}
		if i.Reason != string(migrate.ReasonUnsupportedType) {
			continue
		}
		_, extension := migrate.SplitName(i.Name)
		extension = strings.ToLower(extension)
		t := tallies[extension]
		tallies[extension] = migrate.ExtensionTally{Extension: extension, Objects: t.Objects + 1, Bytes: t.Bytes + i.Size}
	}
	plan.Unsupported = slices.SortedFunc(maps.Values(tallies), func(a, b migrate.ExtensionTally) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Extension, b.Extension))
	})
	return nil
}

// planAgain plans a new run in the place of one that is overtaken.
func (p *Planner) planAgain(ctx context.Context, former state.Run, key sources.Key) (migrate.Plan, error) {
	run, err := p.State.Begin(ctx, former.Pair, former.Command, former.Rules)
	if err != nil {
		return migrate.Plan{}, err
	}
	plan, err := p.Plan(ctx, run)
	plan.Superseded = &migrate.Superseded{Run: former.ID, Key: key}
	return plan, err
}
