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
		older, _, err := s.revisions(ctx, o)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a deleted asset shows when it is opened
			return err
		}
		for _, v := range slices.Backward(older) {
			if err := yield(v); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) error { return s.fail(ctx, "list revisions of", o.Key, err) })
}

// Revisions returns the older versions of an object, the oldest first, and the current revision, whose
// version is its ID. It makes one request. Without its asset, the error is fs.ErrNotExist.
func (s *Source) Revisions(ctx context.Context, o sources.Object) (older []sources.Object, current sources.Object, err error) {
	older, current, err = s.revisions(ctx, o)
	if err != nil {
		return nil, sources.Object{}, s.fail(ctx, "list revisions of", o.Key, err)
	}
	return older, current, nil
}

func (s *Source) revisions(ctx context.Context, o sources.Object) (older []sources.Object, current sources.Object, err error) {
	all, err := s.service.Revisions(ctx, o.VersionTag)
	if err != nil {
		return nil, sources.Object{}, err
	}
	slices.Reverse(all) // the newest comes first, also among some with the same time
	sorting.Stable(all, func(a, b assets.Revision) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, r := range all {
		v := sources.Object{Key: o.Key, Size: r.Size, Time: r.CreatedAt.UTC(), VersionTag: o.VersionTag, ContentType: o.ContentType, Version: r.ID}
		if r.Current {
			current = v
			continue
		}
		older = append(older, v)
	}
	return older, current, nil
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
