package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/flagname"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// A RefusedError means that the service does not replace the content of an asset.
type RefusedError struct {
	Asset string
	Err   error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf(flagname.InText("the service does not replace the content of asset %s, see {on_replace_refused}: %v"), e.Asset, e.Err)
}

// Class returns permanent, whatever the answer looks like, because nothing was changed. For the
// same reason there is no Unwrap.
func (e *RefusedError) Class() retry.Class { return retry.Permanent }

// replace replaces the content of an item's asset. The asset keeps its ID, URL, name and place, and
// the service keeps the previous content.
func (a *Applier) replace(ctx context.Context, s *structure, i state.Item, content *content) result {
	former, err := a.State.Receipt(ctx, a.run.Pair.ID, migrate.ReplacedKey(i))
	if err != nil {
		return judge(ctx, i, migrate.NewStateError(err))
	}
	asset, sent, err := a.exchange(ctx, i, former, content)
	if again, failed := a.resize(ctx, &i, content, err); again {
		asset, sent, err = a.exchange(ctx, i, former, content)
	} else {
		err = failed
	}
	asset, c := withReceiptPlace(asset, former)
	if _, refused := errors.AsType[*RefusedError](err); refused && i.Whole == nil && a.rules.SendsInstead() {
		asset, c, sent, err = a.sendInstead(ctx, s, i, content)
	}
	if err != nil {
		i.Checksum = sent.checksum // to recognise it by
		return judge(ctx, i, err)
	}
	misnamed, err := a.rename(ctx, i, &asset)
	if err != nil {
		i.Checksum = sent.checksum
		return judgeUnnamed(ctx, i, err)
	}
	faultpoint.Hit(faultpoint.Sent)
	receipt := receiptOf(i, asset, c, sent.checksum)
	remark := migrate.JoinTexts(a.inherit(ctx, receipt, i, former), keep(receipt, sent.kept), resizedRemark(i))
	r := a.finish(ctx, i, &asset, receipt, content.whole())
	r.outcome.Error = migrate.JoinTexts(r.outcome.Error, remark)
	r.outcome.InsteadOf = migrate.ReplacedKey(i)
	if misnamed != "" && r.outcome.State == state.ItemDone {
		r.outcome.State, r.outcome.Class, r.outcome.Error = state.ItemFailed, string(retry.Permanent), migrate.JoinTexts(misnamed, r.outcome.Error)
		r.outcome.Misnamed = true
	}
	return r
}

// withReceiptPlace returns an asset with the name and place of its receipt, for the new receipt: if
// users have moved the asset, a later run may move it back.
func withReceiptPlace(asset assets.Asset, former state.Receipt) (assets.Asset, migrate.Container) {
	asset.Name, asset.Extension = former.Name, former.Extension
	return asset, migrate.Container{Category: former.Category, Folder: former.Folder}
}

// judgeUnnamed is judge for an item whose asset has the new content but not its name. It is
// unconfirmed in any case: otherwise the next plan would report the new content as an edit.
func judgeUnnamed(ctx context.Context, i state.Item, err error) result {
	r := judge(ctx, i, fmt.Errorf("%w; %w", err, assets.ErrUnconfirmed))
	r.answer = true // about the content; a repeated renaming changes nothing
	return r
}

// exchange uploads the content of an item to its asset, and checks the answer.
func (a *Applier) exchange(ctx context.Context, i state.Item, former state.Receipt, content *content) (assets.Asset, sending, error) {
	asset, err := a.Write.Replace(ctx, i.Asset, assets.Replacement{Filename: former.Filename(), Size: i.Size, Open: content.open})
	sent, n := content.sent()
	if err != nil {
		return asset, sent, a.whyNotReplaced(ctx, i, err)
	}
	if what := mismatchOfContent(i, asset, n); what != "" {
		return asset, sending{}, a.restoreContent(ctx, former, what)
	}
	return asset, sent, nil
}

// mismatchOfContent returns how an answer differs from the uploaded content, or "".
func mismatchOfContent(i state.Item, a assets.Asset, sent int64) string {
	switch {
	case a.ID != i.Asset:
		return fmt.Sprintf("asset %s instead of %s", a.ID, i.Asset)
	case sent != i.Size:
		return fmt.Sprintf("after %d of %d bytes", sent, i.Size)
	case a.Size != i.Size:
		return fmt.Sprintf("%d bytes instead of %d", a.Size, i.Size)
	}
	return ""
}

// whyNotReplaced distinguishes deleted assets and refused replacements from other failures.
func (a *Applier) whyNotReplaced(ctx context.Context, i state.Item, err error) error {
	e, ok := errors.AsType[*assets.Error](err)
	if !ok || isBodyError(err) || !isRefusal(e) {
		return err
	}
	if _, err := a.Dest.Asset(ctx, i.Asset); errors.Is(err, fs.ErrNotExist) {
		return &DeletedError{i.Asset}
	} else if err != nil {
		return err
	}
	return &RefusedError{i.Asset, err}
}

// isRefusal reports whether an answer may mean that the service cannot replace this content, or any
// content. An object that is too large is no refusal: it is too large for a new asset, too. 501 is
// the only 5xx answer that counts as a refusal.
func isRefusal(e *assets.Error) bool {
	_, size := e.SizeLimit()
	_, pixels := e.MegapixelsLimit()
	return !size && !pixels && e.Class() == retry.Permanent && slices.Contains([]int{400, 404, 405, 501}, e.Status)
}

// restoreContent restores the previous content of an asset, even if the run is being aborted, and
// returns an error that says so.
func (a *Applier) restoreContent(ctx context.Context, former state.Receipt, what string) error {
	ctx, cancel := context.WithTimeout(retry.WithDrain(context.WithoutCancel(ctx), nil), recordTimeout)
	defer cancel()
	return &ReceiptError{Asset: former.Asset, What: what, Replaced: true, Err: a.useFormer(ctx, former)}
}

func (a *Applier) useFormer(ctx context.Context, former state.Receipt) error {
	all, err := collect.RevisionsOfSize(ctx, a.Dest, former.Asset, former.Size)
	if err != nil {
		return err
	}
	revision, err := collect.RevisionWith(ctx, a.Dest, assets.Asset{ID: former.Asset, URL: former.URL}, all, former.Checksum)
	if err != nil {
		return err
	}
	return a.Write.UseRevision(ctx, former.Asset, revision)
}

// sendInstead uploads an object as a new asset, because the service does not replace the content of
// its asset.
func (a *Applier) sendInstead(ctx context.Context, s *structure, i state.Item, content *content) (assets.Asset, migrate.Container, sending, error) {
	p := prepared{content: content}
	p.container, p.err = s.container(ctx, i.Category, i.Folder)
	return a.effect(ctx, s, i, p)
}

// inherit copies the previous receipt's values into the receipt of a replaced content. The previous
// asset of a new one is trashed if the rules say so; the remark reports that.
func (a *Applier) inherit(ctx context.Context, r *state.Receipt, i state.Item, former state.Receipt) (remark string) {
	if r.Asset == former.Asset {
		r.Slot, r.Adopted = former.Slot, former.Adopted
		if migrate.ReusesAsset(i) && migrate.FoldName(r.Filename()) != migrate.FoldName(i.Name) { // its own name is another's so far
			r.Slot = migrate.Place{Category: i.Category, Folder: i.Folder, Name: r.Filename()}.Slot()
		}
		return ""
	}
	remark = fmt.Sprintf("%s, since the service does not replace the content of asset %s, which ", migrate.RemarkSentAsNew, former.Asset)
	if !a.rules.Trashes() || a.confirmOnly {
		return remark + "keeps its URL"
	}
	shared, err := a.State.SharedAssets(ctx, a.run.Pair, []string{former.Asset})
	switch {
	case err != nil:
		return remark + "was not trashed: " + err.Error()
	case shared[former.Asset]:
		return remark + "was not trashed, because another source shares it"
	}
	refused, err := Refusals(a.Write.Trash(ctx, former.Asset))
	if o := trashOutcome(i, errors.Join(err, refused.Refusal(former.Asset))); o.State != state.ItemDone {
		return remark + "was not trashed: " + o.Error
	}
	return remark + "is in the trash"
}

// confirmEachReplaced checks the unconfirmed items that replace content, and returns the others.
// Items that may have been uploaded as a new asset are among the others.
func (a *Applier) confirmEachReplaced(ctx context.Context, unconfirmed []pending, now time.Time) (reported []finding, others []pending) {
	findings := make([]finding, len(unconfirmed))
	g := errgroup.Group{}
	g.SetLimit(a.Concurrency)
	for n, q := range unconfirmed {
		findings[n] = finding{pending: q, final: !now.Before(q.due)}
		if q.item.Action == state.Replace && !q.unseen {
			g.Go(func() error { a.confirmReplaced(ctx, &findings[n]); return nil })
		}
	}
	_ = g.Wait() // each finding has its own error
	for n, f := range findings {
		if f.item.Action != state.Replace || f.receipt == nil && f.err == nil && f.item.Whole == nil && a.rules.SendsInstead() {
			others = append(others, unconfirmed[n])
		} else {
			reported = append(reported, f)
		}
	}
	return reported, others
}

// confirmReplaced checks whether an unconfirmed item has replaced the content of its asset. Another
// upload only makes one more revision, so that is done if the answer stays unknown.
func (a *Applier) confirmReplaced(ctx context.Context, f *finding) {
	asset, checksum, err := a.replaced(ctx, f.item)
	if err == nil && asset != nil {
		err = a.confirmExchanged(ctx, f, *asset, checksum)
	}
	locked := a.confirmOnly && collect.IsUnreadable(err)
	candidates := locked || collect.IsChangedOrDeleted(err)
	if candidates && f.final {
		if err := a.takeReplaced(ctx, f, locked); !migrate.HasClass(err, retry.Permanent) {
			f.err = err
		}
	}
	if candidates || migrate.HasClass(err, retry.Permanent) || err == nil && asset == nil {
		return
	}
	if f.err = err; err != nil {
		return
	}
	a.keepFound(ctx, f)
	a.inheritFound(ctx, f)
}

// confirmExchanged sets the receipt of an unconfirmed item whose asset has its content, and renames
// the asset if it does not have the item's name yet.
func (a *Applier) confirmExchanged(ctx context.Context, f *finding, asset assets.Asset, checksum []byte) error {
	former, err := a.State.Receipt(ctx, a.run.Pair.ID, migrate.ReplacedKey(f.item))
	if err != nil {
		return migrate.NewStateError(err)
	}
	asset, c := withReceiptPlace(asset, former)
	if f.refused, err = a.rename(ctx, f.item, &asset); err == nil {
		f.receipt = receiptOf(f.item, asset, c, checksum)
	}
	return err
}

// inheritFound is inherit for an unconfirmed item that arrived.
func (a *Applier) inheritFound(ctx context.Context, f *finding) {
	if f.receipt == nil || f.item.Action != state.Replace {
		return
	}
	former, err := a.State.Receipt(ctx, a.run.Pair.ID, migrate.ReplacedKey(f.item))
	if err != nil {
		f.receipt, f.err = nil, migrate.NewStateError(err)
		return
	}
	f.remark = migrate.JoinTexts(a.inherit(ctx, f.receipt, f.item, former), f.remark)
}

// replaced returns the asset of an item and the checksum of its content, if that is the content of
// the object, otherwise no asset. The time of the change does not matter, because no upload is
// needed.
func (a *Applier) replaced(ctx context.Context, i state.Item) (*assets.Asset, []byte, error) {
	revisions, err := a.Dest.Revisions(ctx, i.Asset)
	if err != nil || !slices.ContainsFunc(revisions, func(r assets.Revision) bool {
		return r.Current && r.Size == i.Size
	}) {
		return nil, nil, err
	}
	asset, err := a.Dest.Asset(ctx, i.Asset)
	if err != nil {
		return nil, nil, err
	}
	checksum := i.Checksum
	if checksum == nil {
		if checksum, err = inventory.ChecksumOfObject(ctx, a.Source, i.Object); err != nil {
			return nil, nil, err
		}
	}
	theirs, err := inventory.ChecksumOfWhole(ctx, a.Dest, asset.ID, asset.URL, asset.Size)
	if err != nil || !bytes.Equal(theirs, checksum) {
		return nil, nil, err
	}
	return &asset, checksum, nil
}
