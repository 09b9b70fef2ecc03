package plan

import (
	"context"
	"fmt"
	"iter"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// overtakenError ends the listing of a run that is overtaken.
type overtakenError struct{ key sources.Key }

func (e *overtakenError) Error() string {
	return fmt.Sprintf("%s has changed since this run was done with it", e.key)
}

// done lists what a sync did before it was listed again. Whoever approved a plan wants no
// other one, and all else but a sync brings only what is new.
func (w *walk) done(ctx context.Context) iter.Seq2[state.Item, error] {
	if w.listing.decided || w.Rules.Sync == nil || w.Approval != nil {
		return func(func(state.Item, error) bool) {}
	}
	return w.Journal.Items(ctx, w.run.Num, state.ItemDone)
}

// goneSince ends the listing if an object is gone since the run was done with it.
func (w *walk) goneSince(i state.Item) error {
	if i.Action == state.Trash || i.Joins() || !w.Rules.FollowsGone() || w.unread.hides(i.Key) {
		return nil // it was gone already, nothing is lost with it, or nothing follows from that
	}
	return &overtakenError{i.Key}
}

// changedSince ends the listing if an object is not as it was when the run was done with it:
// by its fingerprint alone, which is what the run itself has noted.
func (w *walk) changedSince(o sources.Object, s migrate.Situation, receipt state.Receipt, alias state.Alias) error {
	if s.LeftOut != "" || s.Failed != "" {
		return nil
	}
	was := receipt.Object
	if s.Memory == migrate.Unknown {
		was = alias.Object
	}
	known := s.Memory != migrate.Unknown || alias.Key != ""
	again := w.Rules.Sync.DescribeAgain // which it was
	if known && sameFingerprint(o, was, w.Source.Traits().Precision) && (again || !s.Redescribed) {
		return nil
	}
	return &overtakenError{o.Key}
}
