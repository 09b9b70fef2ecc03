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

// Trashing is the [Method] that trashes assets, one request per batch.
type Trashing struct {
	Write migrate.Trasher
	Dest  migrate.Reader
	Stop  <-chan struct{}
}

// Kind returns the kind of items whose assets are trashed.
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

// Refusals returns the answers about each asset in an error, if there were any.
func Refusals(err error) (*assets.BulkError, error) {
	if e, ok := errors.AsType[*assets.BulkError](err); ok && e.Err == nil {
		return e, nil
	}
	return &assets.BulkError{}, err
}

// trashOutcome returns the outcome of a trashed item. A missing asset counts as trashed; often an
// earlier attempt with a lost answer trashed it.
func trashOutcome(i state.Item, refusal error) state.Outcome {
	if refusal == nil || errors.Is(refusal, fs.ErrNotExist) {
		return state.Outcome{Key: i.Key, State: state.ItemDone, Undone: true}
	}
	return Failure(i, refusal)
}

// Look checks whether the asset of an item is in the trash; see [Method].
func (t Trashing) Look(ctx context.Context, i state.Item) (state.Outcome, error) {
	_, err := t.Dest.Asset(ctx, i.Asset)
	if errors.Is(err, fs.ErrNotExist) {
		return trashOutcome(i, nil), nil
	}
	return state.Outcome{}, err
}
