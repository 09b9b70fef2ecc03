package ckbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"assetferry/internal/assets"
	"assetferry/internal/sorting"
	"assetferry/sources"
)

// KeepsVersions implements sources.Historian. It makes no request: any asset may have revisions.
func (s *Source) KeepsVersions(context.Context) (bool, error) { return true, nil }

// Versions implements sources.Historian, with one request. The older versions of an object are all
// revisions of its asset but the current one, by the time of their creation.
func (s *Source) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		all, err := s.service.Revisions(ctx, o.VersionTag)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a deleted asset shows when it is opened
			return err
		}
		all = slices.DeleteFunc(all, func(r assets.Revision) bool { return r.Current })
		sorting.Stable(all, func(a, b assets.Revision) int { return b.CreatedAt.Compare(a.CreatedAt) })
		for _, r := range all {
			if err := yield(sources.Object{Key: o.Key, Size: r.Size, Time: r.CreatedAt.UTC(), VersionTag: o.VersionTag, ContentType: o.ContentType, Version: r.ID}); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) error { return s.fail(ctx, "list revisions of", o.Key, err) })
}

// openVersion opens an older version, whose content never changes.
func (s *Source) openVersion(ctx context.Context, o sources.Object, offset int64) (*Reader, error) {
	a, err := s.service.Asset(ctx, o.VersionTag)
	if err != nil {
		return nil, err
	}
	body, size, err := s.service.DownloadRevision(ctx, a, o.Version, offset)
	switch {
	case err != nil:
		return nil, err
	case size >= 0 && size != o.Size:
		return nil, errors.Join(fmt.Errorf("the service has %d bytes of revision %s instead of the listed %d", size, o.Version, o.Size), body.Close())
	}
	return &Reader{ctx: ctx, source: s, object: o, asset: a, body: body, left: o.Size - offset}, nil
}
