package collect

import (
	"bytes"
	"context"
	"slices"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
)

// A Hindrance is why an asset does not become what it was before.
type Hindrance string

var errNoRevision = Hindrance(migrate.ReasonNoRevision)

var ErrTouched = Hindrance(migrate.ReasonTouched)

func (h Hindrance) Error() string { return string(h) }

// Class is permanent: no repetition helps.
func (h Hindrance) Class() retry.Class { return retry.Permanent }

// IsLost reports whether the content that an asset had before is certainly not among its
// revisions, without reading any.
func IsLost(ctx context.Context, d migrate.Reader, t Trace, a assets.Asset) (bool, error) {
	if a.Size == t.Kept.Size {
		return false, nil // it may be back
	}
	all, err := Candidates(ctx, d, a.ID, t.Kept.Size)
	if migrate.HasClass(err, retry.Permanent) {
		return true, nil
	}
	return len(all) == 0, err
}

// Candidates are the revisions of an asset that may have a content which it had before, the
// newest first.
func Candidates(ctx context.Context, d migrate.Reader, asset string, size int64) ([]assets.Revision, error) {
	all, err := d.Revisions(ctx, asset)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r assets.Revision) bool { return r.Current || r.Size != size })
	slices.SortStableFunc(all, func(a, b assets.Revision) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// Holding finds the one of some revisions that has a content.
func Holding(ctx context.Context, d migrate.Reader, a assets.Asset, all []assets.Revision, digest []byte) (id string, err error) {
	for _, r := range all {
		content, _, err := d.DownloadRevision(ctx, a, r.ID, 0)
		if err != nil {
			return "", err
		}
		its, _, err := inventory.DigestOf(content)
		if err != nil {
			return "", err
		}
		if bytes.Equal(its, digest) {
			return r.ID, nil
		}
	}
	return "", errNoRevision
}

// MayBeEdit reports whether a revision is what somebody made of the content that we had sent.
// Who only described the asset made none, whatever runs that were taken back have left.
func (t Trace) MayBeEdit(r assets.Revision) bool {
	if t.Kept.Size != t.BeforeRun.Size {
		return true
	}
	return t.WasEdited() && r.CreatedAt.After(t.BeforeRun.Modified.Add(Rounding)) && !r.CreatedAt.After(t.Kept.Modified.Add(Rounding))
}

// IsBack reports whether an asset has the content that it had before the run, and fails if
// it has neither that nor what the run sent.
func IsBack(ctx context.Context, d migrate.Reader, t Trace, a assets.Asset) (bool, error) {
	switch {
	case a.Size != t.Now.Size && a.Size != t.Kept.Size:
		return false, ErrTouched
	case t.Now.Size != t.Kept.Size:
		return a.Size == t.Kept.Size, nil
	}
	digest, err := inventory.DigestOfWhole(ctx, d, a.ID, a.URL, a.Size)
	switch {
	case err != nil || bytes.Equal(digest, t.Now.Digest):
		return false, err
	case bytes.Equal(digest, t.BeforeRun.Digest) || t.WasEdited():
		return true, nil
	}
	return false, ErrTouched
}
