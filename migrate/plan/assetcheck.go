package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// assetCheckPage is how many assets are looked up at once, so that those in one folder are
// listed together.
const assetCheckPage = 5000

// An assetCheck checks the assets that a plan would change or trash.
type assetCheck struct {
	*planning
	*decisions
	*decider
	lost *changedOwners
}

// do checks the assets that a plan is about to change or trash. It decides again for assets that
// users changed, and stores the previous state of each asset for an undo.
func (s *assetCheck) do(ctx context.Context) error {
	if s.Rules.Sync == nil {
		return nil
	}
	n, err := s.countPlanned(ctx, state.Replace, state.UpdateMetadata, state.Move, state.Trash)
	if err != nil || n == 0 {
		return err
	}
	s.Watch.Phase(migrate.PhaseInventory, n, -1)
	var page []state.Item
	for i, err := range s.State.Items(ctx, s.run.Num, state.ItemPlanned) {
		if err != nil {
			return err
		}
		if i.Asset == "" || i.Action == state.Create || i.Action == state.Adopt {
			continue
		}
		if page = append(page, i); len(page) < assetCheckPage {
			continue
		}
		if err := s.assetCheckPage(ctx, page); err != nil {
			return err
		}
		page = page[:0]
	}
	if err := s.assetCheckPage(ctx, page); err != nil {
		return err
	}
	return s.flush(ctx)
}

func (s *assetCheck) assetCheckPage(ctx context.Context, page []state.Item) error {
	receipts := make([]state.Receipt, 0, len(page))
	byAsset := map[string]state.Receipt{}
	for chunk := range slices.Chunk(page, migrate.PageSize) {
		found, err := s.receiptsOf(ctx, chunk)
		if err != nil {
			return err
		}
		for id, r := range found {
			byAsset[id], receipts = r, append(receipts, r)
		}
	}
	seen, err := inventory.LookUp(ctx, s.Dest, receipts, s.Concurrency)
	if err != nil {
		return err
	}
	var former []state.Former
	for _, i := range page {
		asset := seen[i.Asset]
		r := byAsset[i.Asset]
		condition, err := s.decideForAsset(ctx, &i, r, asset)
		if err == nil {
			err = s.lost.detachFromChanged(ctx, &i, r, asset, condition)
		}
		if err != nil {
			return err
		}
		if i.State == state.ItemPlanned && i.Action != state.Create && asset.There {
			f, err := s.formerly(ctx, i, r, asset.Asset, condition)
			if err != nil {
				return err
			}
			former = append(former, f)
		}
		s.Watch.Progress(1, 0)
	}
	return s.keepFormer(ctx, former)
}

func (p *planning) keepFormer(ctx context.Context, all []state.Former) error {
	if len(all) == 0 {
		return nil
	}
	return p.State.SaveFormer(ctx, p.run.Num, p.run.Pair.ID, all)
}

// formerly returns the previous state of an asset that an item would change, for undo.
func (p *planning) formerly(ctx context.Context, i state.Item, r state.Receipt, a assets.Asset, condition migrate.Condition) (f state.Former, err error) {
	f = state.Former{Key: i.Key, Of: i.Key}
	if i.PreviousKey != "" {
		f.Of = i.PreviousKey
	}
	was := collect.FormerOf(a)
	if condition == migrate.ConditionEdited || collect.ChangedLater(r, a) {
		was.Left = collect.LastChangeByUs(r, a)
	}
	if i.Action == state.Replace && !was.Left.IsZero() {
		if was.Revision, err = p.currentRevision(ctx, a.ID); err != nil {
			return f, err
		}
	}
	f.Asset, err = json.Marshal(was)
	return f, err
}

// currentRevision returns the present revision of an asset, or "" if the service does not report
// it.
func (p *planning) currentRevision(ctx context.Context, asset string) (id string, err error) {
	all, err := p.Dest.Revisions(ctx, asset)
	if errors.Is(err, fs.ErrNotExist) || migrate.HasClass(err, retry.Permanent) {
		return "", nil
	}
	for _, r := range all {
		if r.Current {
			id = r.ID
		}
	}
	return id, err
}

// decideForAsset decides again about an item, with the present status of its asset.
func (s *assetCheck) decideForAsset(ctx context.Context, i *state.Item, r state.Receipt, asset inventory.AssetStatus) (migrate.Condition, error) {
	if asset.UnknownErr != nil {
		setUnknown(i, asset.UnknownErr)
		return migrate.ConditionUnknown, s.store(ctx, *i)
	}
	condition, err := s.condition(ctx, i.Action, r, asset)
	if err != nil {
		return condition, err
	}
	return condition, s.reconsider(ctx, i, r, asset, condition)
}

// setUnknown decides about an item whose asset cannot be read at the destination.
func setUnknown(i *state.Item, err error) {
	migrate.SetDecision(i, state.Conflict, migrate.ReasonAssetStateUnknown)
	i.Error = fmt.Sprintf("%s: %v", migrate.ReasonAssetStateUnknown.Text(), err)
}

// reconsider decides again about an item by the condition of its asset.
func (s *assetCheck) reconsider(ctx context.Context, i *state.Item, r state.Receipt, asset inventory.AssetStatus, condition migrate.Condition) error {
	now := migrate.Situation{Condition: condition}
	switch i.Action {
	case state.Replace:
		now.Memory = migrate.MemoryChanged
	case state.UpdateMetadata:
		if condition != migrate.ConditionDeleted {
			return s.compareMetadata(ctx, i, asset.Asset)
		}
		now.Memory = migrate.MemorySame
	case state.Move:
		if condition == migrate.ConditionMoved && i.Reason == string(migrate.ReasonNameAvailable) && !s.Rules.Overwrites() {
			return s.keepsName(ctx, i)
		}
		if condition == migrate.ConditionEdited || condition == migrate.ConditionUnchanged || condition == migrate.ConditionMoved && (s.Rules.Overwrites() || i.Reason == string(migrate.ReasonAssetMovedReverted)) {
			return nil // the asset moves with the changes that people made
		}
		now.Memory = migrate.MemoryChanged
	case state.Trash:
		shared, err := s.State.SharedAssets(ctx, s.run.Pair, []string{i.Asset})
		if err != nil {
			return err
		}
		now.Deleted, now.Expired, now.Shared = true, true, shared[i.Asset]
	}
	action, why := migrate.Decide(now, s.Rules)
	if action == i.Action && why != migrate.ReasonDeletedAtBoth {
		return nil
	}
	return s.redecide(ctx, i, now, r, asset)
}

// redecide decides about an item whose asset has changed since our last change.
func (s *assetCheck) redecide(ctx context.Context, i *state.Item, now migrate.Situation, r state.Receipt, asset inventory.AssetStatus) error {
	previousKey := i.PreviousKey
	i.PreviousKey = ""
	if err := s.judge(ctx, i, now, r, state.Item{}); err != nil {
		return err
	}
	i.Asset = r.Asset
	if i.Action == state.Create { // in the place of the receipt that it has
		i.Asset, i.PreviousKey = "", r.Key
		if err := s.keepDeleted(ctx, *i); err != nil {
			return err
		}
	}
	if i.Action != state.Create && previousKey != "" {
		i.PreviousKey = previousKey
	}
	recordPlaces(i, r, asset)
	return s.store(ctx, *i)
}

// recordPlaces stores the present place of an asset that a user moved or renamed. Undo needs it to
// restore that place.
func recordPlaces(i *state.Item, r state.Receipt, asset inventory.AssetStatus) {
	if i.State != state.ItemConflict || i.Reason != string(migrate.ReasonAssetMoved) {
		return
	}
	where := fmt.Sprintf("asset %s is named %q now", asset.ID, asset.Filename())
	if asset.CategoryID != r.Category || asset.FolderID != r.Folder {
		where += ", in another folder"
	}
	i.Error = migrate.Reason(i.Reason).Text() + ": " + where
}

// keepDeleted stores the receipt of an asset that will be created again, so that an undo restores
// it as deleted. There is no previous state of the asset itself.
func (p *planning) keepDeleted(ctx context.Context, i state.Item) error {
	return p.keepFormer(ctx, []state.Former{{Key: i.Key, Of: i.PreviousKey, Asset: json.RawMessage("{}")}})
}

// condition returns the condition of an asset, as far as the planned action depends on it.
func (p *planning) condition(ctx context.Context, action state.Action, r state.Receipt, a inventory.AssetStatus) (migrate.Condition, error) {
	c := listedCondition(action, r, a)
	if action == state.Trash && (c == migrate.ConditionUnchanged || c == migrate.ConditionUnknown) {
		if foreign, err := p.HasForeignMetadata(ctx, p.run.Pair, r, a.Asset); foreign || err != nil {
			return migrate.ConditionEdited, err
		}
	}
	if c == migrate.ConditionUnknown {
		return p.ConditionOf(ctx, r, a.Asset)
	}
	return c, nil
}

// listedCondition returns the condition of an asset by its fields alone, or unknown if it was changed
// after our last change, and only its revisions show whether its content was.
func listedCondition(action state.Action, r state.Receipt, a inventory.AssetStatus) migrate.Condition {
	left := collect.LastChangeByUs(r, a.Asset)
	switch {
	case !a.There:
		return migrate.ConditionDeleted
	case a.CategoryID != r.Category || a.FolderID != r.Folder, norm.NFC.String(a.Name) != norm.NFC.String(r.Name), a.Extension != r.Extension:
		return migrate.ConditionMoved
	case a.Size != r.Size:
		return migrate.ConditionEdited
	case action == state.Trash && collect.ChangedLater(r, a.Asset): // trashing would lose the change, whatever it is
		return migrate.ConditionEdited
	case a.LastModifiedAt.IsZero(), left.IsZero() && action == state.Unchanged: // requests for all assets of an older version would take too long
		return migrate.ConditionUnchanged
	case !left.IsZero() && !a.LastModifiedAt.After(left.Add(collect.TimeTolerance)):
		return migrate.ConditionUnchanged
	}
	return migrate.ConditionUnknown
}

// compareMetadata decides again about an asset whose metadata would be updated, if people changed
// that metadata and a user has to decide.
func (s *assetCheck) compareMetadata(ctx context.Context, i *state.Item, a assets.Asset) error {
	if !s.Rules.ReportsEdits() {
		return nil
	}
	last, err := s.LastDescription(ctx, s.run, i.Key)
	if err != nil {
		return err
	}
	g, err := s.Complete(ctx, s.run, *i, nil, collect.Findings{Found: last.Found})
	if err != nil {
		return err
	}
	clash := metadata.Merge(last.Base, g.Said, collect.MetadataOf(a), metadata.Report).Conflicts
	if len(clash) == 0 {
		return nil
	}
	action, why := migrate.Decide(migrate.Situation{Memory: migrate.MemorySame, Condition: migrate.ConditionMetadataEdited}, s.Rules)
	migrate.SetDecision(i, action, why)
	i.Error = fmt.Sprintf("%s: %s", why.Text(), strings.Join(clash, ", "))
	return s.store(ctx, *i)
}
