package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/internal/scan"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A result is the result of one attempt at an item.
type result struct {
	item    state.Item
	outcome state.Outcome
	release bool          // nothing was sent, for a reason outside of the item
	fatal   error         // the run cannot go on
	alike   string        // the failure, without the parts that differ from item to item
	scan    bool          // the scanner has no answer
	refused bool          // the scanner or the service refuses the content, and nothing of it is at the destination
	answer  bool          // unconfirmed although the service answered
	asked   time.Duration // how long the other side wants us to wait
}

// send prepares an item, carries it out in an upload slot, and returns the result. Only the
// dispatcher writes the state database.
func (a *Applier) send(ctx context.Context, s *structure, i state.Item) result {
	within, cancel := context.WithCancel(ctx)
	defer cancel() // a read that still blocks
	p := a.prepare(within, s, i)
	defer p.content.drop()
	if err := p.content.refusal(); err != nil {
		return judge(ctx, i, err)
	}
	if err := a.uploadSlots.begin(ctx); err != nil {
		return judge(ctx, i, err)
	}
	defer a.uploadSlots.end()
	return a.carryOut(ctx, s, i, p)
}

func (a *Applier) carryOut(ctx context.Context, s *structure, i state.Item, p prepared) result {
	if wasSent(i) {
		a.Watch.Progress(0, i.Size)
		return a.finish(ctx, i, nil, nil, nil)
	}
	if i.Action == state.Replace {
		return a.replace(ctx, s, i, p.content)
	}
	asset, c, sent, err := a.effect(ctx, s, i, p)
	if again, failed := a.resize(ctx, &i, p.content, err); again {
		asset, c, sent, err = a.effect(ctx, s, i, p)
	} else {
		err = failed
	}
	if err != nil {
		i.Checksum = sent.checksum // to recognise it by
		return judge(ctx, i, err)
	}
	faultpoint.Hit(faultpoint.Sent)
	receipt := receiptOf(i, asset, c, sent.checksum)
	remark := keep(receipt, sent.kept)
	r := a.finish(ctx, i, &asset, receipt, p.content.whole())
	r.outcome.Error, r.outcome.InsteadOf = migrate.JoinTexts(noted(i), r.outcome.Error, remark, resizedRemark(i)), migrate.ReplacedKey(i)
	return r
}

// noted returns the remark of the plan on an item.
func noted(i state.Item) string {
	if i.Class != "" { // the error of the previous attempt
		return ""
	}
	return i.Error
}

// A sending contains the facts about an uploaded, or adopted, object.
type sending struct {
	checksum []byte               // nil unless the content was sent completely
	kept     *sources.Description // storage metadata, nil if there is none
}

// wasSent reports whether the asset of an item exists and is in the state database, so that only
// its metadata may be missing.
func wasSent(i state.Item) bool {
	if i.Action == state.Replace {
		return i.State == state.ItemSent // it has had an asset all the time
	}
	return i.Asset != "" && (i.Action == state.Create || i.Action == state.UpdateMetadata)
}

// receiptOf returns the receipt of an item's asset. Its slot uses the category's ID, which a plan
// with a new category cannot know.
func receiptOf(i state.Item, a assets.Asset, c migrate.Container, checksum []byte) *state.Receipt {
	return &state.Receipt{
		Object: i.Object, Checksum: checksum,
		Asset: a.ID, Name: a.Name, Extension: a.Extension, Category: c.Category, Folder: c.Folder,
		URL: a.URL, Slot: migrate.Place{Category: c.Category, Folder: i.Folder, Name: i.Name}.Slot(), Adopted: i.Action == state.Adopt,
		Images: a.ImageURLs, Modified: a.LastModifiedAt,
	}
}

// effect adopts or uploads. A deleted folder is created again once, with its parents.
func (a *Applier) effect(ctx context.Context, s *structure, i state.Item, p prepared) (asset assets.Asset, c migrate.Container, sent sending, err error) {
	if i.Action == state.Adopt {
		asset, err = a.adopt(ctx, i)
		a.Watch.Progress(0, i.Size)
		return asset, migrate.Container{Category: asset.CategoryID, Folder: asset.FolderID}, sending{checksum: i.Checksum}, err
	}
	c, err = p.container, p.err
	for again := false; ; again = true {
		if err == nil {
			asset, sent, err = a.upload(ctx, c, i, p.content)
		}
		if again || i.Folder == "" || isBodyError(err) || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, assets.ErrUnconfirmed) {
			return asset, c, sent, err
		}
		if err := s.forget(ctx, c, i.Folder); err != nil {
			return asset, c, sent, err
		}
		c, err = s.container(ctx, i.Category, i.Folder)
	}
}

func isBodyError(err error) bool {
	_, ok := errors.AsType[*assets.BodyError](err)
	return ok
}

// adopt reads the identical asset of the plan, so that the receipt has its current state.
func (a *Applier) adopt(ctx context.Context, i state.Item) (assets.Asset, error) {
	asset, err := a.Dest.Asset(ctx, i.Asset)
	if err == nil && asset.Size != i.Size {
		err = fmt.Errorf("asset %s: %w", i.Asset, sources.ErrChanged)
	}
	return asset, err
}

// upload uploads an item's content, hashing it on its way, and checks the answer. It reads the
// metadata that the source keeps with the object first.
func (a *Applier) upload(ctx context.Context, c migrate.Container, i state.Item, content *content) (assets.Asset, sending, error) {
	u := assets.Upload{CategoryID: c.Category, FolderID: c.Folder, Filename: i.Name, Size: i.Size, Open: content.open}
	if c.Folder != "" {
		u.CategoryID = "" // the service accepts only one of them
	}
	asset, err := a.Write.Upload(ctx, u)
	sent, n := content.sent()
	if err != nil {
		return asset, sent, err
	}
	if what := mismatch(i, asset, n); what != "" {
		return asset, sending{}, a.discardUpload(ctx, &ReceiptError{Asset: asset.ID, What: what})
	}
	return asset, sent, nil
}

// A ReceiptError means that the service created another asset than was uploaded, or stored other
// content. A wrong asset was trashed and replaced content was restored, unless Err says why not.
type ReceiptError struct {
	Asset, What string
	Replaced    bool // it was there before, with other content
	Err         error
}

func (e *ReceiptError) Error() string {
	what, fate := "created another asset", "was moved to the trash"
	if e.Replaced {
		what = "stored other content"
	}
	switch {
	case e.Replaced && e.Err != nil:
		fate = "could not get its previous content again; restore it by hand from its revisions: " + e.Err.Error()
	case e.Replaced:
		fate = "has its previous content again"
	case e.Err != nil:
		fate = "could not be trashed; delete it by hand: " + e.Err.Error()
	}
	return fmt.Sprintf("the service %s than was uploaded (%s); asset %s %s", what, e.What, e.Asset, fate)
}

// Class returns permanent, whatever error kept the asset from being trashed: something was
// uploaded. That is also why there is no Unwrap.
func (e *ReceiptError) Class() retry.Class { return retry.Permanent }

// mismatch returns how an answer differs from the upload, or "".
func mismatch(i state.Item, a assets.Asset, sent int64) string {
	switch {
	case sent != i.Size:
		return fmt.Sprintf("after %d of %d bytes", sent, i.Size)
	case a.Size != i.Size:
		return fmt.Sprintf("%d bytes instead of %d", a.Size, i.Size)
	case migrate.FoldName(a.Filename()) != migrate.FoldName(i.Name):
		return fmt.Sprintf("name %q instead of %q", a.Filename(), i.Name)
	}
	return ""
}

// discardUpload trashes a wrong asset, even if the run is being aborted.
func (a *Applier) discardUpload(ctx context.Context, e *ReceiptError) error {
	ctx, cancel := context.WithTimeout(retry.WithDrain(context.WithoutCancel(ctx), nil), recordTimeout)
	defer cancel()
	e.Err = a.Write.Trash(ctx, e.Asset)
	return e
}

// deletedSinceListing is the error of an object that was deleted after the listing. Many of them in
// a row mean that the source itself is missing.
const deletedSinceListing = "deleted at the source after it was listed"

// judge returns the consequences of an error for an item and for the run.
func judge(ctx context.Context, i state.Item, err error) result {
	class, asked := retry.Classify(err)
	r := result{item: i, asked: asked, outcome: state.Outcome{Key: i.Key, State: state.ItemFailed, Class: string(class), Error: err.Error()}}
	r.alike = alike(i, err)
	wrong, other := errors.AsType[*ReceiptError](err)
	body := isBodyError(err)
	if e, ok := errors.AsType[*sources.Error](err); ok && body {
		r.outcome.Error = e.Op + ": " + e.Err.Error() // the error is at the source, and readers see the key anyway
	}
	_, refused := errors.AsType[*scan.RefusedError](err)
	_, r.scan = errors.AsType[*scan.Error](err)
	switch {
	case other: // whatever the error, it was uploaded
		r.refused = wrong.Err == nil
	case refused:
		r.outcome.Class, r.refused = state.ClassRefused, true
	case errors.Is(err, assets.ErrUnconfirmed):
		r.outcome.State = state.ItemUnconfirmed
		r.answer = answered(err)
		if class == retry.Fatal { // another operation failed, too
			r.fatal = err
		}
	case ctx.Err() != nil, errors.Is(err, retry.ErrDraining):
		r.release = true // an interruption is no failure
	case errors.Is(err, sources.ErrChanged), i.VersionNum == 0 && body && errors.Is(err, assets.ErrSize):
		r.outcome.State, r.alike = state.ItemChanged, ""
	case body && errors.Is(err, fs.ErrNotExist):
		r.outcome.State, r.outcome.Error, r.alike = state.ItemChanged, deletedSinceListing, deletedSinceListing
	case body && errors.Is(err, fs.ErrPermission):
		r.outcome.Class = string(retry.Permanent)
	case class == retry.Fatal:
		r.release, r.fatal = true, err
	default:
		r.refused = !body && refusesContent(err)
	}
	return r
}

// refusesContent reports whether the service refused a name or a content. Other permanent errors, such
// as a missing folder, can have a cause outside of the object.
func refusesContent(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	return ok && e.RefusesContent()
}

// alike returns the part of an error that is the same for all items that fail in the same way.
func alike(i state.Item, err error) string {
	if _, ok := errors.AsType[*ReceiptError](err); ok {
		return "another asset than was uploaded" // each has an ID of its own
	}
	if e, ok := errors.AsType[*RefusedError](err); ok {
		return "not replaced: " + alike(i, e.Err)
	}
	if e, ok := errors.AsType[*notFoundError](err); ok {
		return "not there: " + alike(i, e.last)
	}
	if e, ok := errors.AsType[*unknownError](err); ok {
		return "not confirmed: " + alike(i, e.err)
	}
	text := err.Error()
	switch e, ok := errors.AsType[*assets.Error](err); {
	case ok && e.Status >= 500: // such messages may differ each time
		text = fmt.Sprint(e.Op, e.Status)
	case ok: // without subject and trace
		text = fmt.Sprint(e.Op, e.Status, e.Message, e.Err)
	}
	return strings.NewReplacer(string(i.Key), "", i.Name, "", i.Asset, "").Replace(text)
}

// answered reports whether the service itself answered, so that it has finished the request.
// Gateways answer earlier, with these codes or with unregistered ones.
func answered(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	return ok && !slices.Contains([]int{0, 408, 502, 504}, e.Status) && e.Status < 520
}
