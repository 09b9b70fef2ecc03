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

// swap has the former asset stand for an object again, and not the one that was sent instead.
// Where that is refused the latter stays, or is restored, so that the object has an asset.
func (g restoreMethod) swap(ctx context.Context, c *restoration) error {
	err := g.exchange(ctx, c)
	switch class, _ := retry.Classify(err); {
	case err == nil:
	case class.Repeatable(), class == retry.Fatal && c.current: // nothing is trashed that stays so
		return err
	default:
		return g.keepReplacement(ctx, c, err)
	}
	c.asset, err = g.Dest.Asset(ctx, c.BeforeRun.Asset)
	c.current, c.done = err == nil, err == nil
	return err
}

// exchange trashes the asset that was sent instead, once it is known that the former one is
// there or can come out of the trash, which it then does.
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

// checkRestorable fails if an asset cannot come out of the trash. That its name is taken says
// nothing: the asset that is to give way has it.
func (g restoreMethod) checkRestorable(ctx context.Context, id string) error {
	all, err := g.write.ValidateRestore(ctx, id)
	if err != nil {
		return err
	}
	switch r, there := all[id]; {
	case !there:
		return errEmptied
	case !r.SourceExists:
		return collect.RestoreError(migrate.ReasonFolderMissing)
	case !r.ExtensionAllowed:
		return errNotAllowed
	}
	return nil
}

// keepReplacement sees to it that an object whose former asset is refused has the later one, and
// adds to the refusal where that is.
func (g restoreMethod) keepReplacement(ctx context.Context, c *restoration, refusal error) error {
	err := g.restoreReplacement(ctx, c)
	switch class, _ := retry.Classify(err); {
	case err == nil:
		return fmt.Errorf("%w; the object keeps asset %s", refusal, c.Now.Asset)
	case class == retry.Permanent:
		return &refusedError{fmt.Errorf("%w; %w", refusal, err)}
	case class == retry.Fatal: // this run does not come to another try
		c.incomplete = err
	}
	return err
}

// restoreReplacement takes the asset that was sent instead out of the trash, unless it is not in there.
// If something has taken its name meanwhile, it is to have that all the same, as the service
// allows; one that does not leaves it under another.
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

// lookAtSwapped finds out whether the former asset stands for an object again, whose later one
// is in the trash. If neither is there an earlier try ended between the two: it is undone,
// or no user would know later that it was not people who trashed the later one.
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

// refusalOf is what the answer to a request about one asset means for it.
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

// A refusedError is about one asset, whatever its cause would mean for a run.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error      { return e.error }
func (e *refusedError) Class() retry.Class { return retry.Permanent }
