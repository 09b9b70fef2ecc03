package apply

import (
	"context"
	"encoding/json"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// An asset whose modification time is later than our last change was changed by users. If we change
// such an asset without new content, its recorded time does not change. Otherwise our change would
// hide theirs from later runs.

// leftBefore returns the time of our last change of an asset that a user has changed since; zero if
// none has.
func (a *Applier) leftBefore(ctx context.Context, i state.Item, r state.Receipt, now assets.Asset) (time.Time, error) {
	left := collect.LastChangeByUs(r, now)
	if left.IsZero() || !now.LastModifiedAt.After(left.Add(collect.TimeTolerance)) {
		return time.Time{}, nil
	}
	if i.Action == state.UpdateMetadata {
		was, err := a.before(ctx, i)
		if err != nil || !was.Left.IsZero() {
			return was.Left, err
		}
		if !was.Modified.IsZero() && !now.LastModifiedAt.After(was.Modified.Add(collect.TimeTolerance)) {
			return time.Time{}, nil // the plan has looked
		}
	}
	// An earlier attempt may have written it, if its answer was lost. In that case the content is
	// unchanged.
	standing, err := a.ConditionOf(ctx, r, now)
	if err != nil || standing != migrate.ConditionEdited {
		return time.Time{}, err
	}
	return left, nil
}

// before returns the stored previous state of an item's asset; empty if there is none.
func (a *Applier) before(ctx context.Context, i state.Item) (was collect.FormerAsset, err error) {
	kept, err := a.State.FormerAsset(ctx, a.run.Num, i.Key)
	if err == nil && kept != nil {
		err = json.Unmarshal(kept, &was)
	}
	if err != nil {
		return was, migrate.NewStateError(err)
	}
	return was, nil
}

// gather collects the metadata of an object. If the object was just uploaded, its content was
// captured on the way. Otherwise earlier findings are reused, and the content is read only if there
// are none.
func (a *Applier) gather(ctx context.Context, i state.Item, receipt *state.Receipt, sent *content, last collect.LastDescription) (g collect.Findings, err error) {
	switch {
	case sent != nil:
		g, err = a.capturedMetadata(ctx, sent)
	case i.Action != state.UpdateMetadata && i.Action != state.Move, i.Reason == string(migrate.ReasonMetadataMissing), i.Reason == string(migrate.ReasonMetadataRefreshed):
		g, err = a.Examine(ctx, i.Object)
	case i.Action == state.UpdateMetadata && isTouched(i, *receipt), hasNewKey(i):
		g.Found = last.Found
		g, err = a.AddFromSource(ctx, i.Object, g)
	default:
		g.Found = last.Found
	}
	if err != nil {
		return g, err
	}
	return a.Complete(ctx, a.run, i, receipt.Checksum, g)
}

// hasNewKey reports whether an asset is moved because the key of its object changed.
func hasNewKey(i state.Item) bool { return i.Action == state.Move && i.PreviousKey != i.Key }

// isTouched reports whether the fingerprint of an object has changed since its upload.
func isTouched(i state.Item, r state.Receipt) bool {
	return i.VersionTag != r.VersionTag || !i.Time.Equal(r.Time)
}

// capturedMetadata returns the metadata that was captured during the upload.
func (a *Applier) capturedMetadata(ctx context.Context, sent *content) (g collect.Findings, err error) {
	g.Found = metadata.Found{}.With(metadata.FromStorage, a.SourceFields(sent.kept))
	if sent.capture == nil {
		return g, nil
	}
	if sent.capture.Elsewhere() {
		return a.AddEmbedded(ctx, sent.item.Object, g)
	}
	g.Add(sent.capture.Found())
	return g, nil
}
