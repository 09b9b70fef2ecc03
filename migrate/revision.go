package migrate

import (
	"bytes"
	"context"
	"slices"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
)

// A hindrance is why an asset does not become what it was before.
type hindrance string

// The hindrances that only show when an asset is on its way.
var (
	errNoRevision = hindrance(ReasonNoRevision)
	errTouched    = hindrance(ReasonTouched)
	errEmptied    = hindrance("it is not in the trash of the service any more, and so it is lost there")
)

func (h hindrance) Error() string { return string(h) }

// Class is permanent: no repetition helps.
func (h hindrance) Class() retry.Class { return retry.Permanent }

// isLost reports whether the content that an asset had before is certainly not among its
// revisions, without reading any.
func isLost(ctx context.Context, d Reader, t trace, a assets.Asset) (bool, error) {
	if a.Size == t.former.Size {
		return false, nil // it may be back
	}
	all, err := candidates(ctx, d, a.ID, t.former.Size)
	if isOf(err, retry.Permanent) {
		return true, nil
	}
	return len(all) == 0, err
}

// candidates are the revisions of an asset that may have a content which it had before, the
// newest first.
func candidates(ctx context.Context, d Reader, asset string, size int64) ([]assets.Revision, error) {
	all, err := d.Revisions(ctx, asset)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r assets.Revision) bool { return r.Current || r.Size != size })
	slices.SortStableFunc(all, func(a, b assets.Revision) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// holding finds the one of some revisions that has a content.
func holding(ctx context.Context, d Reader, a assets.Asset, all []assets.Revision, digest []byte) (id string, err error) {
	for _, r := range all {
		content, _, err := d.DownloadRevision(ctx, a, r.ID, 0)
		if err != nil {
			return "", err
		}
		its, _, err := digestOf(content)
		if err != nil {
			return "", err
		}
		if bytes.Equal(its, digest) {
			return r.ID, nil
		}
	}
	return "", errNoRevision
}

// formerRevision finds the revision that has the content which an asset had before: what we
// had sent by then, or what somebody made of that, which is the newest. It is empty if the
// asset has that content already.
func formerRevision(ctx context.Context, d Reader, t trace, a assets.Asset) (id string, err error) {
	if back, err := isBack(ctx, d, t, a); back || err != nil {
		return "", err
	}
	all, err := candidates(ctx, d, a.ID, t.former.Size)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(r assets.Revision) bool { return r.ID == t.former.Revision }) {
		return t.former.Revision, nil
	}
	for _, r := range all {
		if t.mayBeEdit(r) {
			return r.ID, nil
		}
	}
	return holding(ctx, d, a, all, t.before.Digest)
}

// mayBeEdit reports whether a revision is what somebody made of the content that we had sent.
// Who only described the asset made none, whatever runs that were taken back have left.
func (t trace) mayBeEdit(r assets.Revision) bool {
	if t.former.Size != t.before.Size {
		return true
	}
	return t.wasEdited() && r.CreatedAt.After(t.before.Modified.Add(rounding)) && !r.CreatedAt.After(t.former.Modified.Add(rounding))
}

// isBack reports whether an asset has the content that it had before the run, and fails if
// it has neither that nor what the run sent.
func isBack(ctx context.Context, d Reader, t trace, a assets.Asset) (bool, error) {
	switch {
	case a.Size != t.now.Size && a.Size != t.former.Size:
		return false, errTouched
	case t.now.Size != t.former.Size:
		return a.Size == t.former.Size, nil
	}
	digest, err := digestOfWhole(ctx, d, a.ID, a.URL, a.Size)
	switch {
	case err != nil || bytes.Equal(digest, t.now.Digest):
		return false, err
	case bytes.Equal(digest, t.before.Digest) || t.wasEdited():
		return true, nil
	}
	return false, errTouched
}
