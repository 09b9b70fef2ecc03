package migrate

import (
	"context"
	"fmt"
	"maps"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/state"
)

// describes reports whether assets get a description of their own after they
// were sent.
func (a *Applier) describes() bool { return a.Provenance == "always" }

// finish does what belongs to an item whose asset is there. The asset is nil if it
// was sent before; then the journal has its receipt.
func (a *Applier) finish(ctx context.Context, i state.Item, asset *assets.Asset, receipt *state.Receipt) result {
	done := result{item: i, outcome: state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: receipt}}
	if i.Action == state.Adopt || !a.describes() {
		done.outcome.Undescribed = wasSent(i)
		return done
	}
	modified, err := a.describe(ctx, i, asset, receipt)
	if err == nil {
		faultpoint.Hit(faultpoint.Described)
		if done.outcome.Modified = modified; receipt != nil {
			receipt.Modified = modified
		}
		return done
	}
	r := judge(ctx, i, fmt.Errorf("the asset is there, but not described: %w", err))
	r.outcome.Receipt = receipt
	if r.release { // it stays as it is and is described another time
		r.release, r.outcome.State = false, state.ItemSent
	}
	return r
}

// describe writes into an asset where it comes from, and says when the service says it
// did. It can be repeated.
func (a *Applier) describe(ctx context.Context, i state.Item, asset *assets.Asset, receipt *state.Receipt) (modified time.Time, err error) {
	if asset == nil {
		known, err := a.Journal.Receipt(ctx, a.run.Pair.ID, i.Key)
		if err != nil {
			return modified, &journalError{err}
		}
		there, err := a.Dest.Asset(ctx, known.Asset)
		if err != nil {
			return modified, err
		}
		asset, receipt = &there, &known
	}
	// Whether the service merges attributes is not known, so all of them are sent.
	attributes := maps.Clone(asset.Metadata.CustomAttributes)
	if attributes == nil {
		attributes = map[string]any{}
	}
	mark := provenance(a.run.Pair.Source, i.Key, receipt.Digest, asset.ID)
	if attributes[provenanceAttribute] == mark {
		return asset.LastModifiedAt, nil
	}
	attributes[provenanceAttribute] = mark
	changed, err := a.Write.Update(ctx, asset.ID, assets.Changes{CustomAttributes: attributes})
	return changed.LastModifiedAt, err
}
