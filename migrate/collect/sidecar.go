package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/internal/sorting"
	"assetferry/internal/tabular"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// FollowsSidecars reports whether sidecars provide metadata instead of being objects.
func (d *Collector) FollowsSidecars() bool {
	return d.UsesSource(metadata.FromSidecar) && (d.Source == nil || !d.Source.Traits().NoSidecars)
}

// SidecarFields reads the sidecars of an object. It ignores those that cannot be read, and returns
// a remark with the reason.
func (d *Collector) SidecarFields(ctx context.Context, run state.Run, key sources.Key) (fields metadata.Fields, remark string, err error) {
	if !d.FollowsSidecars() || d.Sidecarless {
		return nil, "", nil
	}
	keys := metadata.SidecarsOf(string(key))
	all, err := d.State.SidecarsAmong(ctx, run.Pair.ID, keys)
	if err != nil {
		return nil, "", migrate.NewStateError(err)
	}
	sorting.By(all, func(a, b state.Sidecar) int { return slices.Index(keys, a.Folded) - slices.Index(keys, b.Folded) })
	for _, c := range all {
		if c.Missed != 0 {
			if err := d.State.ForgetSidecar(ctx, run.Pair.ID, c.Key); err != nil {
				return nil, "", migrate.NewStateError(err)
			}
			continue
		}
		says, err := d.ReadSidecar(ctx, c)
		if isUnread(err) {
			if err := d.State.UnreadSidecar(ctx, run.Pair.ID, c.Key); err != nil {
				return nil, "", migrate.NewStateError(err)
			}
		}
		wrong, err := notReadRemark(string(c.Key), err)
		if err != nil {
			return nil, "", err
		}
		fields, remark = fields.Or(says), migrate.JoinTexts(remark, wrong)
	}
	return fields, remark, nil
}

// RecordSidecars stores the sidecars that a run has only as items: a plan without existing assets
// stores them only there, because it takes less time.
func (d *Collector) RecordSidecars(ctx context.Context, run state.Run) error {
	return d.State.RecordSidecars(ctx, run.Num, string(migrate.ReasonSidecar), func(key sources.Key) string {
		folded, _ := metadata.FoldSidecar(string(key))
		return folded
	})
}

// ReadSidecar reads a sidecar.
func (d *Collector) ReadSidecar(ctx context.Context, c state.Sidecar) (fields metadata.Fields, err error) {
	o := c.Object
	r, err := d.Source.Open(ctx, o, 0)
	if err != nil {
		return nil, err
	}
	fields, err = metadata.ReadSidecar(string(c.Key), r)
	return fields, errors.Join(err, r.Close())
}

// notReadRemark returns a remark on an object whose sidecar cannot be read. It returns an error
// instead if the reason concerns other objects, too.
func notReadRemark(sidecar string, err error) (remark string, _ error) {
	if err == nil || !isUnread(err) && !IsMalformedSidecar(err) {
		return "", err
	}
	return fmt.Sprintf("sidecar %s %s: %v", sidecar, migrate.RemarkBadSidecar, err), nil
}

// IsMalformedSidecar reports whether a sidecar was read but has invalid content.
func IsMalformedSidecar(err error) bool {
	_, mistaken := errors.AsType[*tabular.Mistake](err)
	return mistaken
}

// isUnread reports whether a sidecar has changed, or must not be read at present.
func isUnread(err error) bool {
	return (IsUnreadable(err) || IsUnreadableForGood(err)) && !IsMalformedSidecar(err)
}

// IsUnreadable reports whether the error means that one object, and not the whole source, is
// unreadable.
func IsUnreadable(err error) bool {
	return errors.Is(err, fs.ErrPermission) && !migrate.HasClass(err, retry.Fatal)
}
