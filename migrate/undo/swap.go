package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// swap makes the previous asset the asset of an object again, instead of its replacement. If that
// is refused, the replacement stays or is restored, so that the object has an asset.
func (g restoreMethod) swap(ctx context.Context, c *restoration) error {
	err := g.exchange(ctx, c)
	switch class, _ := retry.Classify(err); {
	case err == nil:
	case class.Repeatable(), class == retry.Fatal && c.current: // an asset that may stay is not trashed
		return err
	default:
		return g.keepReplacement(ctx, c, err)
	}
	c.asset, err = g.Dest.Asset(ctx, c.BeforeRun.Asset)
	c.current, c.done = err == nil, err == nil
	return err
}

// exchange trashes the replacement, after a check that the previous asset exists or can be
// restored, and then restores that.
func (g restoreMethod) exchange(ctx context.Context, c *restoration) error {
	former := c.BeforeRun.Asset
	_, err := g.Dest.Asset(ctx, former)
	trashed := errors.Is(err, fs.ErrNotExist)
	if trashed {
		err = g.checkRestorable(ctx, former)
	}
	if err != nil {
		return err
	}
	if err = refusalOf(c.Now.Asset, g.write.Trash(ctx, c.Now.Asset)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.current = false
	faultpoint.Hit(faultpoint.Sent)
	if !trashed {
		return nil
	}
	err = refusalOf(former, g.write.Restore(ctx, assets.Restoration{AssetID: former}))
	if errors.Is(err, fs.ErrNotExist) {
		return errEmptied
	}
	return err
}

// checkRestorable fails if an asset cannot be restored. A taken name does not count: the
// replacement has it.
func (g restoreMethod) checkRestorable(ctx context.Context, id string) error {
	all, err := g.write.ValidateRestore(ctx, id)
	if err != nil {
		return err
	}
	switch r, there := all[id]; {
	case !there:
		return errEmptied
	case !r.SourceExists:
		return collect.RestoreError(migrate.ReasonFolderMissing.Text())
	case !r.ExtensionAllowed:
		return errNotAllowed
	}
	return nil
}

// keepReplacement ensures that an object whose previous asset is refused has its replacement, and
// adds its place to the refusal.
func (g restoreMethod) keepReplacement(ctx context.Context, c *restoration, refusal error) error {
	err := g.restoreReplacement(ctx, c)
	switch class, _ := retry.Classify(err); {
	case err == nil:
		return fmt.Errorf("%w; the object keeps asset %s", refusal, c.Now.Asset)
	case class == retry.Permanent:
		return &refusedError{fmt.Errorf("%w; %w", refusal, err)}
	case class == retry.Fatal: // this run makes no other attempt
		c.incomplete = err
	}
	return err
}

// restoreReplacement restores the replacement if it is in the trash. If its name was taken since,
// it gets the same name if the service allows that, or a distinct one.
func (g restoreMethod) restoreReplacement(ctx context.Context, c *restoration) error {
	id := c.Now.Asset
	asset, err := g.Dest.Asset(ctx, id)
	if err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("asset %s, its replacement, may be in the trash: %w", id, err)
	}
	err = refusalOf(id, g.write.Restore(ctx, assets.Restoration{AssetID: id, IfTaken: assets.RenameIt}))
	if class, _ := retry.Classify(err); err != nil && class.Repeatable() {
		return err
	} else if err != nil {
		return &refusedError{fmt.Errorf("asset %s, its replacement, is in the trash, too, and cannot be restored: %w; restore it by hand", id, err)}
	}
	if asset, err = g.Dest.Asset(ctx, id); err != nil || asset.Name == c.Now.Name {
		return err
	}
	if _, err = g.write.Update(ctx, id, assets.Changes{Name: &c.Now.Name}); migrate.HasClass(err, retry.Permanent) {
		return nil
	}
	return err
}

// lookAtSwapped checks whether the previous asset is the asset of an object again, with the
// replacement in the trash. If neither is there, an earlier attempt ended between the two steps. It
// is reverted then, because otherwise the trashed replacement would later look like a deletion by a
// user.
func (g restoreMethod) lookAtSwapped(ctx context.Context, c *restoration) (o state.Outcome, err error) {
	c.asset, err = g.Dest.Asset(ctx, c.BeforeRun.Asset)
	if err == nil {
		c.done = true
		return c.outcome(), nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return o, err
	}
	if err = g.restoreReplacement(ctx, c); migrate.HasClass(err, retry.Permanent) {
		return apply.Failure(c.Item, err), nil
	}
	return o, err
}

// refusalOf classifies the answer to a request about one asset.
func refusalOf(id string, answer error) error {
	refused, err := apply.Refusals(answer)
	if err != nil {
		return err
	}
	if refusal := refused.Refusal(id); refusal != nil {
		return &refusedError{refusal}
	}
	return nil
}

// A refusedError concerns one asset, even if its cause would end a run.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error      { return e.error }
func (e *refusedError) Class() retry.Class { return retry.Permanent }
