package migrate

import (
	"context"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/state"
)

// matchRecased finds among what is new the objects that are called as one that is gone but
// for case or Unicode form, and have another content: whoever saves "Photo.jpg" anew as
// "photo.jpg" means one picture. Its asset gets the content and the name, and keeps its ID and
// its address. Otherwise the former name would stand in the way of the new one.
//
// It comes after matchMoves: what has equal content under another name is that object.
func (d *decider) matchRecased(ctx context.Context) error {
	if !d.Rules.followsGone() {
		return nil
	}
	found, err := d.Journal.Recased(ctx, d.run.Num, d.run.Pair.ID, string(absent))
	if err != nil {
		return err
	}
	decided := map[sources.Key]bool{}
	for _, i := range found {
		if d.followed[i.Origin] || decided[i.Key] || foldName(string(i.Key)) != foldName(string(i.Origin)) {
			continue
		}
		needed, err := d.neededBy(ctx, i.Origin)
		if err != nil {
			return err
		}
		if needed != "" { // the others share the former content
			continue
		}
		d.followed[i.Origin], decided[i.Key] = true, true
		d.creates--
		write(&i, state.Replace, ReasonRecased)
		if err := d.store(ctx, i); err != nil {
			return err
		}
	}
	return d.flush(ctx)
}

// takesOver reports whether an item is decided to replace the content of an asset that had
// the object of another key, or was until people turned out to have changed that asset.
func takesOver(i state.Item) bool {
	return (i.Action == state.Replace || i.Action == state.Conflict) && i.Origin != "" && i.Origin != i.Key
}

// isSuccessor reports whether a pass has decided that an item is the object of another key, of
// which there is no item any more. What people did to its asset may have its say since.
func isSuccessor(i state.Item) bool {
	return i.Action != "" && !i.Joins() && i.Origin != "" && i.Origin != i.Key
}

// rename gives the asset of an item that takes it over its new name, unless it has that, and
// says why it does not if the service refuses. It gets the name of a collision then, from which
// a later run gives it its own once that is free. What was sent as a new asset has its name.
func (a *Applier) rename(ctx context.Context, i state.Item, asset *assets.Asset) (refusal string, err error) {
	if !takesOver(i) || asset.ID != i.Asset {
		return "", nil
	}
	refused, err := a.giveName(ctx, asset, i.Name)
	if err == nil && refused != nil {
		_, err = a.giveName(ctx, asset, rename(i.Name, i.Key))
	}
	if err != nil {
		return "", fmt.Errorf("its asset has the new content, but not the name %q yet: %w", i.Name, err)
	}
	if refused != nil {
		refusal = fmt.Sprintf("its asset has the new content, but is called %q: %v", asset.Filename(), refused)
	}
	return refusal, nil
}

// giveName gives an asset a name, unless it has that. A service that has the name already may
// refuse it, or give the asset another one.
func (a *Applier) giveName(ctx context.Context, asset *assets.Asset, to string) (refused, err error) {
	name, extension := splitName(to)
	var changes assets.Changes
	if norm.NFC.String(asset.Name) != norm.NFC.String(name) {
		changes.Name = &name
	}
	if asset.Extension != extension {
		changes.Extension = &extension
	}
	if changes.Name == nil && changes.Extension == nil {
		return nil, nil
	}
	renamed, err := a.Write.Update(ctx, asset.ID, changes)
	if isOf(err, retry.Permanent) {
		return err, nil
	} else if err != nil {
		return nil, err
	}
	*asset = renamed
	if foldName(renamed.Filename()) != foldName(to) {
		refused = fmt.Errorf("the service named it %q instead of %q", renamed.Filename(), to)
	}
	return refused, nil
}
