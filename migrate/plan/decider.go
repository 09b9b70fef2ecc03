package plan

import (
	"cmp"
	"context"

	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/plan/merge"
	"assetferry/migrate/plan/placement"
	"assetferry/sources"
	"assetferry/state"
)

// A decider decides about one object after another.
type decider struct {
	*planning
	places        *placements
	failures      *merge.Cursor[state.Failure]  // of former runs, see history
	foundMetadata map[sources.Key]foundMetadata // the metadata of the next objects, if the placement depends on it
}

// judge decides about an item in a situation.
func (d *decider) judge(ctx context.Context, i *state.Item, s migrate.Situation, receipt state.Receipt, approved state.Item) (err error) {
	o := i.Object
	var failure state.Failure
	if s.RetriesExhausted, failure, err = d.retriesExhausted(o); err != nil {
		return err
	}
	if s.HistoryInterrupted, err = d.historyInterrupted(ctx, receipt); err != nil {
		return err
	}
	action, why := migrate.Decide(s, d.Rules)
	var place placement.Spot
	var looked foundMetadata
	if action == state.Create || action == state.Replace || action == state.Move {
		if place, looked, err = d.findPlace(ctx, o, &s, action, approved); err != nil {
			return err
		}
		action, why = migrate.Decide(s, d.Rules)
	}
	if why == migrate.ReasonNew && place.Extended {
		why = migrate.ReasonExtensionAdded
	}
	if action == state.Create {
		action, why = d.places.admit(place, why)
	}
	i.Category, i.Folder, i.Name, i.Slot = place.Category, place.Folder, place.Name, place.Slot()
	if i.Joins() {
		i.PreviousKey = ""
	}
	i.Asset, i.Checksum = "", nil // of a former pass
	if s.Deleted || action == state.UpdateMetadata || action == state.Replace || action == state.Conflict && s.Memory != migrate.MemoryNone {
		i.Asset = receipt.Asset
	}
	migrate.SetDecision(i, action, why)
	if looked.err != nil && s.Failed != "" {
		place.Remark = looked.err.Error()
	}
	i.Error = cmp.Or(place.Remark, i.Error)
	if why == migrate.ReasonScanRefused {
		i.Error = failure.Error // what the scanner said
	}
	return nil
}

// findPlace finds the place of an object that a plan acts on, and records obstacles in its
// situation.
func (d *decider) findPlace(ctx context.Context, o sources.Object, s *migrate.Situation, action state.Action, approved state.Item) (place placement.Spot, looked foundMetadata, err error) {
	if err := d.places.need(ctx); err != nil {
		return place, looked, err
	}
	if looked, err = d.metadataOf(ctx, o); err != nil {
		return place, looked, err
	}
	if looked.err != nil && action != state.Replace { // the asset keeps its place
		s.Failed = looked.reason()
	}
	place, s.Problem = d.places.placer.Place(o, looked.found)
	if action == state.Replace && s.Problem != migrate.ReasonTooLarge {
		s.Problem = ""
	}
	place.Remark = migrate.JoinTexts(place.Remark, looked.remark)
	keepName(&place.Place, s, approved, o.Key)
	return place, looked, nil
}

// maxFailedRuns is the number of failed runs after which an object is not retried until it changes
// or a user requests it.
const maxFailedRuns = 5

// retriesExhausted returns the reason why an object is not retried, or "", and its last failure.
func (d *decider) retriesExhausted(o sources.Object) (migrate.Reason, state.Failure, error) {
	f, failed, err := d.failures.Find(o.Key)
	switch {
	case err != nil || !failed || d.RetryExhausted, !sameFingerprint(o, f.Object, d.Source.Traits().Precision):
		return "", f, err
	case f.Unclear:
		return migrate.ReasonUnconfirmed, f, nil
	case f.Refused:
		return migrate.ReasonScanRefused, f, nil
	case f.Runs >= maxFailedRuns:
		return migrate.ReasonRetriesExhausted, f, nil
	}
	return "", f, nil
}

// asNew decides about an object as if it had never been uploaded. An approved plan may contain an
// item for it.
func (d *decider) asNew(ctx context.Context, i *state.Item, approved state.Item, isApproved bool) (err error) {
	if d.Mapping.PlaceNeedsMetadata() {
		unknown := state.Item{Object: i.Object}
		unknown.State = state.ItemStaged
		if d.foundMetadata, err = d.findMetadata(ctx, []state.Item{unknown}); err != nil {
			return err
		}
		defer func() { d.foundMetadata = nil }()
	}
	i.PreviousKey = ""
	return d.judge(ctx, i, d.situation(i.Object, migrate.MemoryNone, state.Receipt{}, approved, isApproved), state.Receipt{}, state.Item{})
}

// metadataOf returns the metadata of an object that will be placed. It reads the metadata of
// objects whose assets users deleted or moved, because findMetadata does not.
func (d *decider) metadataOf(ctx context.Context, o sources.Object) (foundMetadata, error) {
	a, looked := d.foundMetadata[o.Key]
	if looked || !d.Mapping.PlaceNeedsMetadata() {
		return a, nil
	}
	a = d.lookFor(ctx, o)
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if migrate.HasClass(a.err, retry.Fatal) {
		return a, a.err
	}
	return a, nil
}
