package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/internal/rows"
	"assetferry/sources"
	"assetferry/state"
)

// inSidecars reads the sidecars of an object. Those that cannot be read say nothing, and the
// remark says why.
func (d Deps) inSidecars(ctx context.Context, run state.Run, key sources.Key) (fields metadata.Fields, remark string, err error) {
	if !d.followsSidecars() || d.sidecarless {
		return nil, "", nil
	}
	keys := metadata.SidecarsOf(string(key))
	all, err := d.Journal.SidecarsAmong(ctx, run.Pair.ID, keys)
	if err != nil {
		return nil, "", &journalError{err}
	}
	slices.SortFunc(all, func(a, b state.Sidecar) int { return slices.Index(keys, a.Folded) - slices.Index(keys, b.Folded) })
	for _, c := range all {
		if c.Missed != 0 {
			if err := d.Journal.ForgetSidecar(ctx, run.Pair.ID, c.Key); err != nil {
				return nil, "", &journalError{err}
			}
			continue
		}
		says, err := d.readSidecar(ctx, c)
		if isUnread(err) {
			if err := d.Journal.UnreadSidecar(ctx, run.Pair.ID, c.Key); err != nil {
				return nil, "", &journalError{err}
			}
		}
		wrong, err := notTaken(string(c.Key), err)
		if err != nil {
			return nil, "", err
		}
		fields, remark = fields.Or(says), joined(remark, wrong)
	}
	return fields, remark, nil
}

// readSidecar reads a sidecar.
func (d Deps) readSidecar(ctx context.Context, c state.Sidecar) (fields metadata.Fields, err error) {
	o := c.Object
	r, err := d.Source.Open(ctx, o, 0)
	if err != nil {
		return nil, err
	}
	fields, err = metadata.ReadSidecar(string(c.Key), r)
	return fields, errors.Join(err, r.Close())
}

// NotTaken is in the remark on an object that has a sidecar which cannot be read, after the
// key of that.
const NotTaken = "says was not taken"

// notTaken is the remark on an object that has a sidecar which could not be read, for a reason
// that concerns no others.
func notTaken(sidecar string, err error) (remark string, _ error) {
	if err == nil || !isUnread(err) && !isMistaken(err) {
		return "", err
	}
	return fmt.Sprintf("what %s %s: %v", sidecar, NotTaken, err), nil
}

// isMistaken reports whether a sidecar was read, and says nothing that can be understood.
func isMistaken(err error) bool {
	_, mistaken := errors.AsType[*rows.Mistake](err)
	return mistaken
}

// isUnread reports whether a sidecar is another one by now, or may not be read. Another time it
// may be.
func isUnread(err error) bool {
	return (isLocked(err) || saysNothing(err)) && !isMistaken(err)
}

// isLocked reports whether something at the source may not be read, unlike all of the source.
func isLocked(err error) bool { return errors.Is(err, fs.ErrPermission) && !isOf(err, retry.Fatal) }

// tellUnread tries again to read a sidecar that could not be read when an asset was to be
// described by it, and tells of it, as of an object, if it cannot be read now either.
func (d *decider) tellUnread(ctx context.Context, c state.Sidecar) (unread bool, err error) {
	_, err = d.readSidecar(ctx, c)
	switch {
	case err == nil, isMistaken(err):
		return false, nil
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case isOf(err, retry.Fatal):
		return true, err
	}
	i, missing := d.Journal.Item(ctx, d.run.Num, c.Key)
	if errors.Is(missing, state.ErrNotFound) { // it is in a folder that cannot be read
		return true, nil
	} else if missing != nil {
		return true, missing
	}
	write(&i, state.Skip, ReasonUnreadable)
	i.Error = err.Error()
	return true, d.store(ctx, i)
}
