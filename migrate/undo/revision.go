package undo

import (
	"context"
	"slices"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// findEdit checks whether an undo would hide edits of users: before the run, or of its content
// since. After a restored content, the revision of the run remains and must not count as an edit;
// only revisions of users count.
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

// findRevised checks whether users had changed the content of an asset before the run.
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

// formerRevision returns the ID of the revision with the previous content of an asset: our upload,
// or the newest edit of it by a user. It returns "" if the asset has that content already.
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
