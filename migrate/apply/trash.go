package apply

import (
	"context"
	"errors"
	"io/fs"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// Trashing is the [Method] that puts assets into the trash, all of a batch with one request.
type Trashing struct {
	Write migrate.Trasher
	Dest  migrate.Reader
	Stop  <-chan struct{}
}

// Kind is that of items whose assets are trashed.
func (t Trashing) Kind() state.Kind { return state.Trashes }

// Ask trashes the assets of a batch; see [Method].
func (t Trashing) Ask(ctx context.Context, batch []state.Item) ([]state.Outcome, error) {
	ids := make([]string, len(batch))
	for n, i := range batch {
		ids[n] = i.Asset
	}
	refused, err := Refusals(t.Write.Trash(retry.WithDrain(ctx, t.Stop), ids...))
	if err != nil {
		return nil, err
	}
	outcomes := make([]state.Outcome, len(batch))
	for n, i := range batch {
		outcomes[n] = trashOutcome(i, refused.Refusal(i.Asset))
	}
	return outcomes, nil
}

// Refusals takes the answer about each asset out of an error, if there was an answer about
// all of them.
func Refusals(err error) (*assets.BulkError, error) {
	if e, ok := errors.AsType[*assets.BulkError](err); ok && e.Err == nil {
		return e, nil
	}
	return &assets.BulkError{}, err
}

// trashOutcome is what a refusal means for an item. An asset that is not there is as good
// as trashed, and often was by an earlier try whose answer was lost.
func trashOutcome(i state.Item, refusal error) state.Outcome {
	if refusal == nil || errors.Is(refusal, fs.ErrNotExist) {
		return state.Outcome{Key: i.Key, State: state.ItemDone, Undone: true}
	}
	return Failure(i, refusal)
}

// Look finds out whether the asset of an item is in the trash; see [Method].
func (t Trashing) Look(ctx context.Context, i state.Item) (state.Outcome, error) {
	_, err := t.Dest.Asset(ctx, i.Asset)
	if errors.Is(err, fs.ErrNotExist) {
		return trashOutcome(i, nil), nil
	}
	return state.Outcome{}, err
}
