package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/state"
)

// A result is what became of one attempt at an item.
type result struct {
	item    state.Item
	outcome state.Outcome
	release bool  // nothing was sent, and the item is not to blame
	fatal   error // the run cannot go on
}

// send carries out one item and says what became of it. The journal is written
// by the dispatcher alone.
func (a *Applier) send(ctx context.Context, s *structure, i state.Item) result {
	asset, c, digest, err := a.effect(ctx, s, i)
	if err == nil {
		return result{item: i, outcome: state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: receiptOf(i, asset, c, digest)}}
	}
	return judge(ctx, i, err)
}

func (a *Applier) effect(ctx context.Context, s *structure, i state.Item) (asset assets.Asset, c container, digest []byte, err error) {
	if i.Action == state.Adopt {
		asset, err = a.adopt(ctx, i)
		return asset, container{asset.CategoryID, asset.FolderID}, i.Digest, err
	}
	if c, err = s.container(ctx, i.Category, i.Folder); err != nil {
		return asset, c, nil, err
	}
	asset, digest, err = a.upload(ctx, c, i)
	return asset, c, digest, err
}

// adopt reads the asset that the plan found equal, so that the receipt says what
// is there now.
func (a *Applier) adopt(ctx context.Context, i state.Item) (assets.Asset, error) {
	asset, err := a.Dest.Asset(ctx, i.Asset)
	if err == nil && asset.Size != i.Size {
		err = fmt.Errorf("asset %s: %w", i.Asset, sources.ErrChanged)
	}
	return asset, err
}

// upload sends an item's content, hashing it on its way, and checks the receipt.
func (a *Applier) upload(ctx context.Context, c container, i state.Item) (assets.Asset, []byte, error) {
	content := newHashing(nil, nil)
	u := assets.Upload{CategoryID: c.category, FolderID: c.folder, Filename: i.Name, Size: i.Size}
	if c.folder != "" {
		u.CategoryID = "" // the service takes the one or the other
	}
	u.Open = func(ctx context.Context) (io.ReadCloser, error) {
		r, err := a.Source.Open(ctx, object(i), 0)
		if err != nil {
			return nil, err
		}
		_, sent := content.sum()
		a.Watch.Progress(0, -sent) // a former try came to nothing
		content = newHashing(r, func(n int64) { a.Watch.Progress(0, n) })
		return content, nil
	}
	asset, err := a.Write.Upload(ctx, u)
	if err != nil {
		return asset, nil, err
	}
	if err := checkReceipt(i, asset); err != nil {
		return asset, nil, errors.Join(err, a.takeBack(ctx, asset.ID))
	}
	digest, _ := content.sum()
	return asset, digest, nil
}

// A ReceiptError says that the service made another asset than we sent. The
// asset has been trashed.
type ReceiptError struct{ Asset, What string }

func (e *ReceiptError) Error() string {
	return fmt.Sprintf("the service answered with another asset than was sent (%s); asset %s was moved to the trash", e.What, e.Asset)
}

func checkReceipt(i state.Item, a assets.Asset) error {
	switch {
	case a.Size != i.Size:
		return &ReceiptError{a.ID, fmt.Sprintf("%d bytes instead of %d", a.Size, i.Size)}
	case foldName(a.Filename()) != foldName(i.Name):
		return &ReceiptError{a.ID, fmt.Sprintf("name %q instead of %q", a.Filename(), i.Name)}
	}
	return nil
}

// takeBack trashes an asset that must not stay, even if the run is being aborted.
func (a *Applier) takeBack(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := a.Write.Trash(ctx, id); err != nil {
		return fmt.Errorf("trash it: %w", err)
	}
	return nil
}

// judge says what an error means for an item and for the run.
func judge(ctx context.Context, i state.Item, err error) result {
	class, _ := retry.Classify(err)
	r := result{item: i, outcome: state.Outcome{Key: i.Key, State: state.ItemFailed, Class: string(class), Error: err.Error()}}
	_, body := errors.AsType[*assets.BodyError](err)
	switch {
	case errors.Is(err, assets.ErrInDoubt):
		r.outcome.State = state.ItemInDoubt
	case ctx.Err() != nil:
		r.release = true // an interruption is no failure
	case errors.Is(err, sources.ErrChanged), body && errors.Is(err, assets.ErrSize):
		r.outcome.State = state.ItemChanged
	case body && errors.Is(err, fs.ErrNotExist):
		r.outcome.State, r.outcome.Error = state.ItemChanged, "gone since it was listed"
	case body:
		r.outcome.Class = string(retry.Permanent)
	case class == retry.Fatal:
		r.release, r.fatal = true, err
	}
	return r
}
