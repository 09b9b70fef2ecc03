package plan

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A foundMetadata is the metadata of an object that is needed for its placement, or the error of
// reading it.
type foundMetadata struct {
	found  metadata.Found
	remark string // what could not be read, as text for people
	err    error
}

// findMetadata finds the metadata of the objects on a page that may need a placement. A plan that
// is resumed places again what it had decided before.
func (p *planning) findMetadata(ctx context.Context, page []state.Item) (map[sources.Key]foundMetadata, error) {
	wanted := slices.DeleteFunc(slices.Clone(page), func(i state.Item) bool { return !p.mayBePlaced(i) })
	seen := make([]foundMetadata, len(wanted))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(max(p.Concurrency, 1))
	for n, i := range wanted {
		g.Go(func() error {
			seen[n] = p.lookFor(parallel, i.Object)
			if migrate.HasClass(seen[n].err, retry.Fatal) {
				return seen[n].err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	all := map[sources.Key]foundMetadata{}
	for n, i := range wanted {
		all[i.Key] = seen[n]
	}
	return all, nil
}

// mayBePlaced reports whether the plan may decide the placement of an item.
func (p *planning) mayBePlaced(i state.Item) bool {
	switch {
	case i.State == state.ItemDone, i.Action == state.Move, isSuccessor(i) && i.Action != state.Create, i.Reason == string(migrate.ReasonSidecar):
		return false // final, see first
	case i.Obstacle != "" && i.Obstacle != maybeSidecar:
		return false
	}
	return p.Rules.SkipReason(i.Object, p.started) == ""
}

// lookFor finds all metadata of an object.
func (p *planning) lookFor(ctx context.Context, o sources.Object) foundMetadata {
	g, err := p.Examine(ctx, o)
	if err != nil {
		return foundMetadata{err: err}
	}
	beside, unread, err := p.SidecarFields(ctx, p.run, o.Key)
	if err != nil {
		return foundMetadata{remark: g.Remark, err: err}
	}
	found := g.Found.With(metadata.FromSidecar, beside)
	fields, err := p.TableFields(ctx, p.run, o.Key, nil, found)
	if err == nil && unread != "" {
		err = &unreadableMetadataError{unread}
	}
	return foundMetadata{found.With(metadata.FromTable, fields), g.Remark, err}
}

// reason returns the reason for skipping the object.
func (a foundMetadata) reason() migrate.Reason {
	if _, ok := errors.AsType[*unreadableMetadataError](a.err); ok {
		return migrate.ReasonMetadataUnreadable
	}
	return migrate.ReasonUnreadable
}

// An unreadableMetadataError means that an object is skipped because its placement is unknown: the
// metadata that cannot be read may make it private.
type unreadableMetadataError struct{ why string }

func (e *unreadableMetadataError) Error() string { return e.why }

// Class returns permanent: a user has to fix it.
func (e *unreadableMetadataError) Class() retry.Class { return retry.Permanent }
