package migrate

import (
	"context"
	"fmt"
	"iter"

	"assetferry/sources"
	"assetferry/state"
)

// An Overtaken is a sync that was to be continued and is not, because an object has changed
// since the run was done with it. A run has one item for each key, so it cannot do anything
// else with that object, and what is new cannot be told from what was renamed either: that
// takes a run of its own, to which the former one gives way. Nothing that it did is lost.
type Overtaken struct {
	Run string
	Key sources.Key // of the first such object
}

// overtakenError ends the listing of a run that is overtaken.
type overtakenError struct{ key sources.Key }

func (e *overtakenError) Error() string {
	return fmt.Sprintf("%s has changed since this run was done with it", e.key)
}

// planAnew plans a new run in the place of one that is overtaken.
func (p *Planner) planAnew(ctx context.Context, former state.Run, key sources.Key) (Plan, error) {
	run, err := p.Journal.Begin(ctx, former.Pair, former.Command, former.Rules)
	if err != nil {
		return Plan{}, err
	}
	plan, err := p.Plan(ctx, run)
	plan.Overtaken = &Overtaken{Run: former.ID, Key: key}
	return plan, err
}

// done lists what a sync did before it was listed again. Whoever approved a plan wants no
// other one, and all else but a sync brings only what is new.
func (w *walk) done(ctx context.Context) iter.Seq2[state.Item, error] {
	if w.decided || w.Rules.Sync == nil || w.Approval != nil {
		return func(func(state.Item, error) bool) {}
	}
	return w.Journal.Items(ctx, w.run.Num, state.ItemDone)
}

// goneSince ends the listing if an object is gone since the run was done with it.
func (w *walk) goneSince(i state.Item) error {
	if i.Action == state.Trash || i.Joins() || !w.Rules.followsGone() || w.unread.hides(i.Key) {
		return nil // it was gone already, nothing is lost with it, or nothing follows from that
	}
	return &overtakenError{i.Key}
}

// changedSince ends the listing if an object is not as it was when the run was done with it:
// by its fingerprint alone, which is what the run itself has noted.
func (w *walk) changedSince(o sources.Object, s Situation, receipt state.Receipt, alias state.Alias) error {
	if s.LeftOut != "" || s.Failed != "" {
		return nil
	}
	was := receipt.Object
	if s.Memory == Unknown {
		was = alias.Object
	}
	known := s.Memory != Unknown || alias.Key != ""
	again := w.Rules.Sync.DescribeAgain // which it was
	if known && sameFingerprint(o, was, w.Source.Traits().Precision) && (again || !s.Redescribed) {
		return nil
	}
	return &overtakenError{o.Key}
}
