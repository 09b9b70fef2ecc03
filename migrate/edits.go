package migrate

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/state"
)

// What people did to an asset shows by its having been changed after we left it. Where we
// change it in turn without giving it other content, it counts as left when it was before:
// else our change would hide theirs from whatever is done to it later.

// leftBefore is when we left an asset that somebody has changed since; zero if nobody has.
func (a *Applier) leftBefore(ctx context.Context, i state.Item, r state.Receipt, now assets.Asset) (time.Time, error) {
	left := leftAt(r, now)
	if left.IsZero() || !now.LastModifiedAt.After(left.Add(rounding)) {
		return time.Time{}, nil
	}
	if i.Action == state.Describe {
		was, err := a.before(ctx, i)
		if err != nil || !was.Left.IsZero() {
			return was.Left, err
		}
		if !was.Modified.IsZero() && !now.LastModifiedAt.After(was.Modified.Add(rounding)) {
			return time.Time{}, nil // the plan has looked
		}
	}
	// It may be what another try wrote, whose answer was lost. That gave it no content.
	standing, err := a.revised(ctx, r, now)
	if err != nil || standing != EditedThere {
		return time.Time{}, err
	}
	return left, nil
}

// before is what the run keeps of the asset of an item as it was before; nothing if it keeps
// none.
func (a *Applier) before(ctx context.Context, i state.Item) (was formerAsset, err error) {
	kept, err := a.Journal.FormerAsset(ctx, a.run.Num, i.Key)
	if err == nil && kept != nil {
		err = json.Unmarshal(kept, &was)
	}
	if err != nil {
		return was, &journalError{err}
	}
	return was, nil
}

// findEdit finds out whether what an undo gives back of an asset would hide what people did
// to it before the run, or to its content since. Where it gives back content, the revision that
// the run made stays, which must not pass for theirs: what counts is whether they made one.
func (g goingBack) findEdit(ctx context.Context, c *comeback) error {
	if c.Was == state.Replace {
		return g.findRevised(ctx, c)
	}
	c.edited = !c.former.Left.IsZero() || c.Was == state.Trash && c.wasEdited()
	left := leftAt(c.now, c.asset)
	if c.edited || c.Was == state.Trash || left.IsZero() || !c.asset.LastModifiedAt.After(left.Add(rounding)) {
		return nil
	}
	standing, err := g.revised(ctx, c.now, c.asset)
	c.edited = standing == EditedThere
	return err
}

// findRevised finds out whether people had given an asset other content before the run.
func (g goingBack) findRevised(ctx context.Context, c *comeback) error {
	if c.isSwapped() || !c.wasEdited() {
		return nil
	}
	all, err := g.Dest.Revisions(ctx, c.asset.ID)
	c.edited = slices.ContainsFunc(all, func(r assets.Revision) bool { return r.Size == c.former.Size && c.mayBeEdit(r) })
	return err
}

// saidOf is what the source said of an object when its asset was described last. It is not
// asked for where nothing describes the asset: that is so for most libraries as a whole,
// and what people took away shows by the time of the change.
func (d Deps) saidOf(ctx context.Context, pair state.Pair, r state.Receipt, asset assets.Asset) (m metadata.Metadata, err error) {
	if asset.Metadata.Description == "" && len(asset.Tags)+len(asset.Metadata.CustomAttributes) == 0 {
		return m, nil
	}
	kept, err := d.Journal.DescribedAs(ctx, pair.ID, r.Key)
	if err != nil {
		return m, err
	}
	return metadata.Decode(kept.Metadata)
}

// hasForeignWords reports whether an asset says something else than we wrote into it, which
// shows whatever we did to it since. Tags do not tell: those that the source gives up stay.
// Nor does what was adopted: nobody knows whose words it had.
func (d Deps) hasForeignWords(ctx context.Context, pair state.Pair, r state.Receipt, asset assets.Asset) (bool, error) {
	if r.Adopted {
		return false, nil
	}
	said, err := d.saidOf(ctx, pair, r, asset)
	if err != nil {
		return false, &journalError{err}
	}
	says := metadataOf(asset).Normal()
	for name, value := range says.Attributes {
		if name != provenanceAttribute && value != said.Attributes[name] {
			return true, nil
		}
	}
	return says.Description != "" && says.Description != said.Description, nil
}
