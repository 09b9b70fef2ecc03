package migrate

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
)

// What keeps an asset from getting its former content back, for good.
var (
	errNoRevision = errors.New(string(ReasonNoRevision))
	errTouched    = errors.New(string(ReasonTouched))
)

// isLost reports whether the content that an asset had before is certainly not among its
// revisions, without reading any.
func isLost(ctx context.Context, d Reader, t trace, a assets.Asset) (bool, error) {
	if a.Size == t.former.Size {
		return false, nil // it may be back
	}
	all, err := candidates(ctx, d, t, a)
	if isOf(err, retry.Permanent) {
		return true, nil
	}
	return len(all) == 0, err
}

// candidates are the revisions that may have the content which an asset had before, the
// newest first.
func candidates(ctx context.Context, d Reader, t trace, a assets.Asset) ([]assets.Revision, error) {
	all, err := d.Revisions(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r assets.Revision) bool { return r.Current || r.Size != t.former.Size })
	slices.SortStableFunc(all, func(a, b assets.Revision) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// formerRevision finds the revision that has the content which an asset had before: what we
// had sent by then, or what somebody made of that, which is the newest. It is empty if the
// asset has that content already.
func formerRevision(ctx context.Context, d Reader, t trace, a assets.Asset) (id string, err error) {
	if back, err := isBack(ctx, d, t, a); back || err != nil {
		return "", err
	}
	all, err := candidates(ctx, d, t, a)
	if err != nil {
		return "", err
	}
	if t.wasEdited() && len(all) > 0 {
		return all[0].ID, nil
	}
	for _, r := range all {
		content, _, err := d.DownloadRevision(ctx, a, r.ID, 0)
		if err != nil {
			return "", err
		}
		digest, _, err := digestOf(content)
		if err != nil {
			return "", err
		}
		if bytes.Equal(digest, t.before.Digest) {
			return r.ID, nil
		}
	}
	return "", errNoRevision
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
