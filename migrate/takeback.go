package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/state"
)

// trashBatch is how many assets are trashed with one request, and so at most how many
// intents a crash leaves behind.
const trashBatch = 100

// An Undoer carries out the plan of an undo: it trashes assets and does nothing else. To
// trash an asset twice is to trash it once, so there is no doubt that a repetition could
// not settle, and one request after the other is fast enough: each is for many assets.
type Undoer struct {
	Deps
	Write Trasher
	Wait  time.Duration   // how long to stay where nothing works; see DefaultWait
	Again []time.Duration // the pauses between tries meanwhile
	// Stop, once closed, ends the undo in good order: what has begun is finished.
	// Cancelling the context instead aborts what is in flight.
	Stop <-chan struct{}

	undo state.Run
	row  row
}

// NewUndoer makes an undoer with the usual settings.
func NewUndoer(d Deps, w Trasher) *Undoer {
	return &Undoer{Deps: d.withDefaults(), Write: w, Wait: DefaultWait, Again: DefaultAgain()}
}

// Apply carries out the plan of an undo. Assets that the service refuses to trash are data:
// they are in the journal, and Apply goes on. Its error says why the undo as a whole ended
// early, as that of Applier.Apply does.
func (u *Undoer) Apply(ctx context.Context, undo state.Run) error {
	if err := u.begin(ctx, undo); err != nil {
		return err
	}
	defer keepAlive(u.Journal)()
	for after := ""; ; {
		if err := u.toldToStop(ctx); err != nil {
			return err
		}
		batch, err := u.Journal.Take(ctx, u.undo.Num, state.Next{After: after, N: trashBatch, Time: u.Now()})
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			break
		}
		faultpoint.Hit(faultpoint.Taken)
		if err := u.trash(ctx, batch); err != nil {
			return err
		}
		after = batch[len(batch)-1].Key // or each look for the next would pass by all that is done
	}
	err := u.Journal.FinishUndo(ctx, u.undo)
	faultpoint.Hit(faultpoint.Finished)
	return err
}

func (u *Undoer) begin(ctx context.Context, undo state.Run) (err error) {
	if u.undo, err = u.Journal.Run(ctx, undo.ID); err != nil {
		return err
	}
	tallies, err := u.Journal.Tallies(ctx, undo.Num)
	if err != nil {
		return err
	}
	left := int64(0)
	for _, t := range tallies {
		if t.State == state.ItemPlanned {
			left += t.Objects
		}
	}
	u.Watch.Phase(PhaseTrash, left, -1)
	return u.Journal.SetRunState(ctx, undo.Num, state.Planned, state.Applying)
}

func (u *Undoer) toldToStop(ctx context.Context) error {
	select {
	case <-u.Stop:
		return ErrStopped
	default:
		return context.Cause(ctx)
	}
}

// Settle finds out what became of the assets that a former process was about to trash, so
// that nothing of the undo is in flight any more. What is not trashed is planned again.
func (u *Undoer) Settle(ctx context.Context, undo state.Run) error {
	u.undo = undo
	items, err := u.Journal.Interrupted(ctx, undo.Num)
	if err != nil {
		return err
	}
	gone, there, _, failure := u.look(ctx, items)
	if err := u.recordAll(ctx, gone, trashed); err != nil {
		return err
	}
	if len(there) > 0 {
		if err := u.Journal.Resend(ctx, undo.Num, keysOf(there), u.Now()); err != nil {
			return err
		}
	}
	if err := u.release(ctx, there); err != nil {
		return err
	}
	return failure
}

// look asks which assets are gone and which are there. It ends at the first that it gets
// no answer about, so that nobody waits for the same trouble with each of them.
func (u *Undoer) look(ctx context.Context, items []state.Item) (gone, there, left []state.Item, err error) {
	for n, i := range items {
		_, err := u.Dest.Asset(ctx, i.Asset)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone = append(gone, i)
		case err != nil:
			return gone, there, items[n:], err
		default:
			there = append(there, i)
		}
	}
	return gone, there, nil, nil
}

// trash takes a batch to its end, as long as that may take. Its error ends the undo.
func (u *Undoer) trash(ctx context.Context, batch []state.Item) error {
	began := time.Now()
	for tries := 1; ; tries++ {
		cause, err := u.ask(ctx, batch)
		switch {
		case err != nil || cause == nil:
			return err
		case isOf(cause, retry.Permanent) && len(batch) > 1:
			return u.separately(ctx, batch)
		case isOf(cause, retry.Permanent):
			return u.refuse(ctx, batch, cause)
		case !u.pauses(ctx, began, tries, cause):
			return u.giveUp(ctx, batch, cause)
		}
	}
}

// ask has the service trash assets with one request, and records what it did. Where there
// is no usable answer it gives the cause.
func (u *Undoer) ask(ctx context.Context, batch []state.Item) (cause, err error) {
	ids := make([]string, len(batch))
	for n, i := range batch {
		ids[n] = i.Asset
	}
	cause = u.Write.Trash(retry.WithDrain(ctx, u.Stop), ids...)
	faultpoint.Hit(faultpoint.Sent)
	refused := &assets.BulkError{}
	if e, ok := errors.AsType[*assets.BulkError](cause); ok && e.Err == nil {
		refused = e
	} else if cause != nil {
		return cause, nil
	}
	return nil, u.recordAll(ctx, batch, func(i state.Item) state.Outcome { return outcomeOf(i, refused.Refusal(i.Asset)) })
}

// outcomeOf is what a refusal means for an item. An asset that is not there is as good as
// trashed, and often was by an earlier try whose answer was lost.
func outcomeOf(i state.Item, refusal error) state.Outcome {
	if refusal == nil || errors.Is(refusal, fs.ErrNotExist) {
		return trashed(i)
	}
	class, _ := retry.Classify(refusal)
	if class == retry.Fatal { // for this asset, or there would have been no answer about others
		class = retry.Permanent
	}
	return state.Outcome{Key: i.Key, State: state.ItemFailed, Class: string(class), Error: refusal.Error()}
}

func trashed(i state.Item) state.Outcome {
	return state.Outcome{Key: i.Key, State: state.ItemDone, TakenBack: true}
}

// recordAll writes what became of items, also while the undo is being aborted, and stops
// it where one asset after the other is refused in the same way.
func (u *Undoer) recordAll(ctx context.Context, items []state.Item, outcome func(state.Item) state.Outcome) error {
	if len(items) == 0 {
		return nil
	}
	outcomes := make([]state.Outcome, len(items))
	for n, i := range items {
		outcomes[n] = outcome(i)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := u.Journal.Record(ctx, u.undo.Num, u.undo.Pair.ID, outcomes); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Recorded)
	for n, o := range outcomes {
		if o.State != state.ItemInDoubt {
			u.Watch.Progress(1, 0)
		}
		u.Watch.Item(items[n], o)
	}
	return u.breaker(items, outcomes)
}

func (u *Undoer) breaker(items []state.Item, outcomes []state.Outcome) error {
	for n, o := range outcomes {
		if o.State != state.ItemFailed {
			u.row = row{}
			continue
		}
		alike := strings.ReplaceAll(o.Error, items[n].Asset, "")
		if err := u.row.failed(o, alike, func(string) bool { return false }); err != nil {
			return err
		}
	}
	return nil
}

// separately asks for each asset of a batch by itself, where a request for all of them is
// refused: one of them may be to blame.
func (u *Undoer) separately(ctx context.Context, batch []state.Item) error {
	for n := range batch {
		if err := u.toldToStop(ctx); err != nil {
			return u.stopWith(ctx, err, batch[n:])
		}
		if err := u.trash(ctx, batch[n:n+1]); err != nil {
			return u.stopWith(ctx, err, batch[n+1:])
		}
	}
	return nil
}

// refuse fails an item whose request is refused, unless its asset is not there to be
// trashed.
func (u *Undoer) refuse(ctx context.Context, one []state.Item, cause error) error {
	gone, _, left, err := u.look(ctx, one)
	if len(left) > 0 {
		return u.giveUp(ctx, one, err)
	}
	return u.recordAll(ctx, one, func(i state.Item) state.Outcome {
		if len(gone) > 0 {
			return trashed(i)
		}
		return state.Outcome{Key: i.Key, State: state.ItemFailed, Class: string(retry.Permanent), Error: cause.Error()}
	})
}

// pauses waits for another try where nothing works for a reason that may pass, as long as
// the undo would stay for that.
func (u *Undoer) pauses(ctx context.Context, began time.Time, tries int, cause error) bool {
	class, asked := retry.Classify(cause)
	if !class.Repeatable() || u.toldToStop(ctx) != nil || len(u.Again) == 0 {
		return false
	}
	pause, until := max(asked, u.Again[min(tries, len(u.Again))-1]), began.Add(u.Wait)
	if time.Now().Add(pause).After(until) {
		return false
	}
	if tries == 1 {
		u.Watch.Halts(cause.Error(), until)
	}
	return retry.Sleep(retry.WithDrain(ctx, u.Stop), pause) == nil
}

// giveUp ends the undo in the middle of a batch, whose request may have been carried out:
// the destination is looked at, and what it does not tell stays in doubt. A request that
// was refused for reasons of the whole run did nothing.
func (u *Undoer) giveUp(ctx context.Context, batch []state.Item, cause error) error {
	why := u.why(ctx, batch, cause)
	if isOf(cause, retry.Fatal) {
		return u.stopWith(ctx, why, batch)
	}
	gone, there, left, err := u.look(retry.WithDrain(ctx, nil), batch)
	faultpoint.Hit(faultpoint.Looked)
	broken := errors.Join(u.recordAll(ctx, gone, trashed), u.recordAll(ctx, left, func(i state.Item) state.Outcome {
		return state.Outcome{Key: i.Key, State: state.ItemInDoubt, Class: string(retry.Transient),
			Error: fmt.Sprintf("cannot find out whether its asset was trashed: %v", err)}
	}))
	if broken != nil {
		why = errors.Join(why, broken)
	}
	return u.stopWith(ctx, why, there)
}

// why is what ends an undo that cannot trash a batch.
func (u *Undoer) why(ctx context.Context, batch []state.Item, cause error) error {
	class, _ := retry.Classify(cause)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(cause, retry.ErrDraining) || u.toldToStop(ctx) != nil:
		return ErrStopped
	case class.Repeatable():
		return &BreakerError{len(batch), cause.Error(), true}
	}
	return cause
}

// stopWith gives back items of which nothing was sent, and why the undo ends.
func (u *Undoer) stopWith(ctx context.Context, why error, items []state.Item) error {
	if err := u.release(ctx, items); err != nil {
		return errors.Join(why, err)
	}
	return why
}

func (u *Undoer) release(ctx context.Context, items []state.Item) error {
	if len(items) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err := u.Journal.Release(ctx, u.undo.Num, keysOf(items))
	faultpoint.Hit(faultpoint.Released)
	return err
}

func keysOf(items []state.Item) []string {
	keys := make([]string, len(items))
	for n, i := range items {
		keys[n] = i.Key
	}
	return keys
}
