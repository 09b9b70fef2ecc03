package undo

import (
	"context"
	"slices"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// findEdit finds out whether what an undo releases of an asset would hide what people did
// to it before the run, or to its content since. Where it releases content, the revision that
// the run made stays, which must not pass for theirs: what counts is whether they made one.
func (g restoreMethod) findEdit(ctx context.Context, c *restoration) error {
	if c.Was == state.Replace {
		return g.findRevised(ctx, c)
	}
	c.edited = !c.Previous.Left.IsZero() || c.Was == state.Trash && c.WasEdited()
	left := collect.LastChangeByUs(c.Now, c.asset)
	if c.edited || c.Was == state.Trash || left.IsZero() || !c.asset.LastModifiedAt.After(left.Add(collect.TimeTolerance)) {
		return nil
	}
	standing, err := g.ConditionOf(ctx, c.Now, c.asset)
	c.edited = standing == migrate.ConditionEdited
	return err
}

// findRevised finds out whether people had given an asset other content before the run.
func (g restoreMethod) findRevised(ctx context.Context, c *restoration) error {
	if c.IsSwapped() || !c.WasEdited() {
		return nil
	}
	all, err := g.Dest.Revisions(ctx, c.asset.ID)
	c.edited = slices.ContainsFunc(all, func(r assets.Revision) bool { return r.Size == c.Previous.Size && c.MayBeEdit(r) })
	return err
}

const (
	errEmptied    = collect.RestoreError("it is not in the trash of the service any more, so it cannot be restored")
	errNotAllowed = collect.RestoreError("the category does not allow its extension any more")
)

// formerRevision finds the revision that has the content which an asset had before: what we
// had sent by then, or what a user made of that, which is the newest. It is empty if the
// asset has that content already.
func formerRevision(ctx context.Context, d migrate.Reader, t collect.AssetHistory, a assets.Asset) (id string, err error) {
	if back, err := collect.HasFormerContent(ctx, d, t, a); back || err != nil {
		return "", err
	}
	all, err := collect.RevisionsOfSize(ctx, d, a.ID, t.Previous.Size)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(r assets.Revision) bool { return r.ID == t.Previous.Revision }) {
		return t.Previous.Revision, nil
	}
	for _, r := range all {
		if t.MayBeEdit(r) {
			return r.ID, nil
		}
	}
	return collect.RevisionWith(ctx, d, a, all, t.BeforeRun.Checksum)
}
