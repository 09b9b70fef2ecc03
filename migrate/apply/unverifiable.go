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

// takeSlack is how much earlier than its intent something seems to be that is taken though
// its content shows nothing. It is less than clockSlack: where the clock was set meanwhile,
// users are informed.
const takeSlack = 5 * time.Second

// matchUnverifiable finds the assets of items whose objects are not what they were when they were
// sent, so that their contents show nothing any more: changed, deleted, renamed or locked while
// no user had noted what became of the upload. To leave such an asset would leave it for good, since
// no later run has a reason to look for it.
//
// An asset is taken if it is the only one that can be meant: of the item's name and size,
// uploaded since the intent, of no other object, not there when the plan looked, and as its
// upload left it. It becomes the receipt of the object as it was, so that the next run sees
// that this has changed or was deleted. Where several can be meant, or a user has changed the
// one, users are informed instead. It comes last, when it is known which assets are others'.
func (a *Applier) matchUnverifiable(ctx context.Context, c migrate.Container, group []finding, claimed map[string]bool) {
	var wanted []*finding
	meant := map[string]int{} // by how many items an asset is meant
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

// isUnverifiable reports whether nothing can be reported an item because of its object.
func (f *finding) isUnverifiable() bool {
	e, lost := errors.AsType[*unknownError](f.err)
	return lost && e.object && f.receipt == nil
}

// sinceIntent gives the assets that an item may have become, without those that were there
// when it was planned or when it was taken.
func (a *Applier) sinceIntent(ctx context.Context, f *finding) ([]assets.Asset, error) {
	since := slices.DeleteFunc(slices.Clone(f.candidates), func(asset assets.Asset) bool {
		return asset.UploadedAt.Before(f.item.IntentAt.Add(-takeSlack)) // or it is not known when
	})
	return a.withoutPlanned(ctx, []*finding{f}, since)
}

// isUntouched reports whether an asset was not changed since its upload.
func isUntouched(a assets.Asset) bool {
	described := a.Metadata.Description != "" || len(a.Tags)+len(a.Metadata.CustomAttributes) > 0
	return !described && !a.LastModifiedAt.After(a.UploadedAt.Add(collect.TimeTolerance))
}

// takeOnly takes the only asset that an item can have become. Undo leaves it where it is, as
// what was there before: nothing confirms that it is ours.
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
	case errors.Is(err, fs.ErrNotExist), migrate.HasClass(err, retry.Permanent): // it is unknown at all
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

// takes notes the receipt of an asset whose content nothing confirms to be the item's.
func (f *finding) takes(r *state.Receipt, locked bool) {
	why, next := "it changed after its upload", "the next run uploads the change"
	if locked {
		why, next = "it cannot be read any more", "the next run that can read it compares the content"
	}
	f.remark = fmt.Sprintf("%s: asset %s matches it by name, size and time; %s", why, r.Asset, next)
	r.Time, r.VersionTag = unverifiableTime, unverifiableTag
	f.receipt, f.err, f.unverifiable = r, nil, true
}

// No object has these: what is listed next, be it as before, is compared with the asset by its
// content. Else an asset of another user could pass for an object that never arrived.
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
	if _, err := a.rename(ctx, f.item, &asset); err != nil { // if it is refused, every report has it
		return err
	}
	f.takes(receiptOf(f.item, asset, c, checksum), locked)
	a.inheritFound(ctx, f)
	return nil
}
