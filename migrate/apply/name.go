package apply

import (
	"context"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// rename gives the asset of an item its new name and returns why it could not, if the service
// refuses. The asset then gets a distinct name, and a later run renames it when the name is
// available. A newly uploaded asset has its name already.
func (a *Applier) rename(ctx context.Context, i state.Item, asset *assets.Asset) (refusal string, err error) {
	if !migrate.ReusesAsset(i) || asset.ID != i.Asset {
		return "", nil
	}
	refused, err := a.giveName(ctx, asset, i.Name)
	if err == nil && refused != nil {
		_, err = a.giveName(ctx, asset, migrate.DistinctName(i.Name, i.Key))
	}
	if err != nil {
		return "", fmt.Errorf("its asset has the new content, but not the name %q yet: %w", i.Name, err)
	}
	if refused != nil {
		refusal = fmt.Sprintf("its asset has the new content, but the name %q: %v", asset.Filename(), refused)
	}
	return refusal, nil
}

// giveName renames an asset, unless it has the name. The service may refuse a taken name, or give
// the asset another one.
func (a *Applier) giveName(ctx context.Context, asset *assets.Asset, to string) (refused, err error) {
	name, extension := migrate.SplitName(to)
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
	if migrate.HasClass(err, retry.Permanent) {
		return err, nil
	} else if err != nil {
		return nil, err
	}
	*asset = renamed
	if migrate.FoldName(renamed.Filename()) != migrate.FoldName(to) {
		refused = fmt.Errorf("the service named it %q instead of %q", renamed.Filename(), to)
	}
	return refused, nil
}
