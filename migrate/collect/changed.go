package collect

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// ConditionOf reports whether the content of an asset changed, if the asset was changed after its
// receipt.
func (d *Collector) ConditionOf(ctx context.Context, r state.Receipt, a assets.Asset) (migrate.Condition, error) {
	revisions, err := d.Dest.Revisions(ctx, a.ID)
	if errors.Is(err, fs.ErrNotExist) || migrate.HasClass(err, retry.Permanent) {
		return migrate.ConditionUnchanged, nil // an older service keeps none, and has no way to change a content
	} else if err != nil {
		return migrate.ConditionUnknown, err
	}
	for _, v := range revisions {
		if v.Current && len(revisions) > 1 && v.CreatedAt.After(LastChangeByUs(r, a).Add(TimeTolerance)) {
			return migrate.ConditionEdited, nil
		}
	}
	return migrate.ConditionUnchanged, nil
}

const (
	// TimeTolerance is by how much two responses of a service may differ about one time.
	TimeTolerance = time.Second
	// processing is how long a service may be busy with an image, and may take the end of
	// that for a change.
	processing = 10 * time.Minute
)

// HasForeignTags reports whether an asset carries other tags than we gave it.
func HasForeignTags(said metadata.Metadata, a assets.Asset) bool {
	return !slices.Equal(slices.Sorted(slices.Values(a.Tags)), said.Tags)
}

// HasForeignAttributes reports whether an asset has custom attributes other than those that we
// wrote: its metadata and its provenance, which may be from before its object got another key or
// content.
func HasForeignAttributes(said metadata.Metadata, a assets.Asset) bool {
	attributes := MetadataOf(a).Attributes
	if mark, ours := attributes[migrate.ProvenanceAttribute]; ours && !strings.HasSuffix(mark, "."+a.ID) {
		return true
	}
	delete(attributes, migrate.ProvenanceAttribute)
	return !maps.Equal(attributes, said.Attributes)
}

// ChangedLater reports whether an asset was changed after our last change, by the clock of the
// service.
func ChangedLater(r state.Receipt, a assets.Asset) bool {
	left := LastChangeByUs(r, a)
	if left.IsZero() || a.LastModifiedAt.IsZero() {
		return false
	}
	slack := TimeTolerance
	if a.Metadata.Status != "" {
		slack = processing
	}
	return a.LastModifiedAt.After(left.Add(slack))
}

// LastChangeByUs returns the time of our last change of an asset, by the clock of the service, or
// zero if it is unknown.
func LastChangeByUs(r state.Receipt, a assets.Asset) time.Time {
	if r.Modified.IsZero() && migrate.ProvenanceOf(a) == "" { // the provenance was not written either
		return a.UploadedAt
	}
	return r.Modified
}
