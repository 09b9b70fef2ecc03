package collect

import (
	"bytes"
	"context"
	"slices"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/internal/sorting"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
)

// A RestoreError is the reason why an asset cannot be restored. Its text is a reason of an undo.
type RestoreError string

var errNoRevision = RestoreError(migrate.ReasonRevisionMissing.Text())

// ErrTouched means that an asset was changed since the run.
var ErrTouched = RestoreError(migrate.ReasonAssetChangedSince.Text())

func (h RestoreError) Error() string { return string(h) }

// Class returns permanent: a retry does not help.
func (h RestoreError) Class() retry.Class { return retry.Permanent }

// IsContentLost reports whether the content that an asset had before is certainly not among its
// revisions, without reading any.
func IsContentLost(ctx context.Context, d migrate.Reader, t AssetHistory, a assets.Asset) (bool, error) {
	if a.Size == t.Previous.Size {
		return false, nil // it may be back
	}
	all, err := RevisionsOfSize(ctx, d, a.ID, t.Previous.Size)
	if migrate.HasClass(err, retry.Permanent) {
		return true, nil
	}
	return len(all) == 0, err
}

// RevisionsOfSize returns the earlier revisions of an asset whose content has a size in bytes, the
// newest first.
func RevisionsOfSize(ctx context.Context, d migrate.Reader, asset string, size int64) ([]assets.Revision, error) {
	all, err := d.Revisions(ctx, asset)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r assets.Revision) bool { return r.Current || r.Size != size })
	sorting.Stable(all, func(a, b assets.Revision) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// RevisionWith returns the ID of the first of some revisions whose content has a SHA-256 checksum.
// It downloads revisions until it finds one. If there is none, it fails with a [RestoreError].
func RevisionWith(ctx context.Context, d migrate.Reader, a assets.Asset, all []assets.Revision, checksum []byte) (id string, err error) {
	for _, r := range all {
		content, _, err := d.DownloadRevision(ctx, a, r.ID, 0)
		if err != nil {
			return "", err
		}
		its, _, err := inventory.ChecksumOf(content)
		if err != nil {
			return "", err
		}
		if bytes.Equal(its, checksum) {
			return r.ID, nil
		}
	}
	return "", errNoRevision
}

// MayBeEdit reports whether a revision may be a user's edit of our content. It is none if the user
// changed only metadata, whatever revisions undone runs have left.
func (t AssetHistory) MayBeEdit(r assets.Revision) bool {
	if t.Previous.Size != t.BeforeRun.Size {
		return true
	}
	return t.WasEdited() && r.CreatedAt.After(t.BeforeRun.Modified.Add(TimeTolerance)) && !r.CreatedAt.After(t.Previous.Modified.Add(TimeTolerance))
}

// HasFormerContent reports whether an asset has the content that it had before the run, and fails if
// it has neither that nor what the run sent.
func HasFormerContent(ctx context.Context, d migrate.Reader, t AssetHistory, a assets.Asset) (bool, error) {
	switch {
	case a.Size != t.Now.Size && a.Size != t.Previous.Size:
		return false, ErrTouched
	case t.Now.Size != t.Previous.Size:
		return a.Size == t.Previous.Size, nil
	}
	checksum, err := inventory.ChecksumOfWhole(ctx, d, a.ID, a.URL, a.Size)
	switch {
	case err != nil || bytes.Equal(checksum, t.Now.Checksum):
		return false, err
	case bytes.Equal(checksum, t.BeforeRun.Checksum) || t.WasEdited():
		return true, nil
	}
	return false, ErrTouched
}
