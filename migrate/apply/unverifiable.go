package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// takeSlack is how much earlier than its intent a matched upload may seem to be if its content
// cannot be compared. It is less than clockSlack: if the clock was set since, users are informed.
const takeSlack = 5 * time.Second

// matchUnverifiable finds the assets of items whose objects changed, were deleted, renamed or
// locked since the upload, before its outcome was recorded. Their contents cannot be compared.
// Without a match the asset would be lost, because no later run looks for it.
//
// An asset is matched if it is the only candidate: it has the item's name and size, was uploaded
// since the intent, belongs to no other object, did not exist at the time of the plan, and was not
// changed since its upload. It becomes the receipt of the object as it was, so the next run notices
// the change or deletion. Several candidates, or a changed one, are reported instead. It runs last,
// when the assets of all other items are known.
func (a *Applier) matchUnverifiable(ctx context.Context, c migrate.Container, group []finding, claimed map[string]bool) {
	var wanted []*finding
	meant := map[string]int{} // number of items that an asset may belong to
	for n := range group {
		f := &group[n]
		if !f.final || !f.isUnverifiable() {
			continue
		}
		f.candidates = slices.DeleteFunc(f.candidates, func(asset assets.Asset) bool { return claimed[asset.ID] })
		for _, asset := range f.candidates {
			meant[asset.ID]++
		}
		wanted = append(wanted, f)
	}
	for _, f := range wanted {
		since, err := a.sinceIntent(ctx, f)
		if err != nil {
			f.err = err
			continue
		}
		if len(since) == 1 && meant[since[0].ID] == 1 && isUntouched(since[0]) {
			a.takeOnly(ctx, c, f, since[0])
		}
	}
}

// isUnverifiable reports whether the object of an item cannot be compared any more.
func (f *finding) isUnverifiable() bool {
	e, lost := errors.AsType[*unknownError](f.err)
	return lost && e.object && f.receipt == nil
}

// sinceIntent returns the possible assets of an item, without those that existed when it was
// planned or taken.
func (a *Applier) sinceIntent(ctx context.Context, f *finding) ([]assets.Asset, error) {
	since := slices.DeleteFunc(slices.Clone(f.candidates), func(asset assets.Asset) bool {
		return asset.UploadedAt.Before(f.item.IntentAt.Add(-takeSlack)) // or its time is unknown
	})
	return a.withoutPlanned(ctx, []*finding{f}, since)
}

// isUntouched reports whether an asset was not changed since its upload.
func isUntouched(a assets.Asset) bool {
	described := a.Metadata.Description != "" || len(a.Tags)+len(a.Metadata.CustomAttributes) > 0
	return !described && !a.LastModifiedAt.After(a.UploadedAt.Add(collect.TimeTolerance))
}

// takeOnly matches the only possible asset of an item. Undo keeps it, like an adopted asset,
// because nothing confirms that we uploaded it.
func (a *Applier) takeOnly(ctx context.Context, c migrate.Container, f *finding, asset assets.Asset) {
	owned, err := a.State.OwnsAsset(ctx, a.run.Pair.Destination, asset.ID)
	if err != nil {
		f.err = migrate.NewStateError(err)
	}
	if err != nil || owned {
		return
	}
	checksum, err := inventory.ChecksumOfWhole(ctx, a.Dest, asset.ID, asset.URL, asset.Size)
	switch {
	case errors.Is(err, fs.ErrNotExist), migrate.HasClass(err, retry.Permanent): // its state is unknown
		return
	case err != nil:
		f.note(err)
		return
	}
	others, err := a.isNamesake(ctx, f.item, asset, checksum)
	if err != nil {
		f.note(err)
	}
	if err != nil || others {
		return
	}
	f.takes(receiptOf(f.item, asset, c, checksum), collect.IsUnreadable(f.err))
	f.receipt.Adopted = true
	f.remark = migrate.JoinTexts(f.remark, "undo keeps it")
	a.inheritFound(ctx, f)
}

// takes stores the receipt of an asset whose content could not be compared.
func (f *finding) takes(r *state.Receipt, locked bool) {
	why, next := "it changed after its upload", "the next run uploads the change"
	if locked {
		why, next = "it cannot be read any more", "the next run that can read it compares the content"
	}
	f.remark = fmt.Sprintf("%s: asset %s matches it by name, size and time; %s", why, r.Asset, next)
	r.Time, r.VersionTag = unverifiableTime, unverifiableTag
	f.receipt, f.err, f.unverifiable = r, nil, true
}

// No object has this time, so the next run compares the object with the asset by content. Otherwise
// another user's asset could pass for an object that was never uploaded.
var unverifiableTime = time.Unix(1, 0)

const unverifiableTag = "unproven"

// takeReplaced is matchUnverifiable for an item that replaces the content of its asset. The upload
// arrived if the asset got other content of the item's size since the intent. The previous content
// is among the asset's revisions.
func (a *Applier) takeReplaced(ctx context.Context, f *finding, locked bool) error {
	revisions, err := a.Dest.Revisions(ctx, f.item.Asset)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !slices.ContainsFunc(revisions, func(r assets.Revision) bool {
		return r.Current && r.Size == f.item.Size && !r.CreatedAt.Before(f.item.IntentAt.Add(-takeSlack))
	}) {
		return nil
	}
	former, err := a.State.Receipt(ctx, a.run.Pair.ID, migrate.ReplacedKey(f.item))
	if err != nil {
		return migrate.NewStateError(err)
	}
	asset, err := a.Dest.Asset(ctx, f.item.Asset)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	checksum, err := inventory.ChecksumOfWhole(ctx, a.Dest, asset.ID, asset.URL, asset.Size)
	if err != nil || bytes.Equal(checksum, former.Checksum) {
		return err
	}
	asset, c := withReceiptPlace(asset, former)
	if _, err := a.rename(ctx, f.item, &asset); err != nil { // a refusal is part of every report
		return err
	}
	f.takes(receiptOf(f.item, asset, c, checksum), locked)
	a.inheritFound(ctx, f)
	return nil
}
