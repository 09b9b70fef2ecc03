package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// bulkBatch is the number of assets per request, and so the maximum number of intents that a crash
// leaves.
const bulkBatch = 100

// A Method is a change of assets by a Bulk. It is idempotent.
type Method interface {
	// Kind returns the kind of its items.
	Kind() state.Kind
	// Ask requests the change of a batch of assets and returns the outcomes. An error with outcomes
	// for only some items means that there is no usable answer about the others. If Ask makes
	// several requests, and one may have taken effect already, the cause is [Begun].
	Ask(ctx context.Context, batch []state.Item) (outcomes []state.Outcome, cause error)
	// Look checks whether the asset of an item is as Ask would leave it. If it is not, the outcome
	// has no state. An error while finishing the work that Ask had started is [Begun].
	Look(ctx context.Context, i state.Item) (state.Outcome, error)
}

// Begun marks the cause of a batch that ended after some of its requests may have taken effect: the
// refusal of the last one says nothing about earlier ones. It returns nil if the cause is nil.
func Begun(cause error) error {
	if cause == nil {
		return nil
	}
	return &begunError{cause}
}

type begunError struct{ error }

func (e *begunError) Unwrap() error { return e.error }

func hasBegun(cause error) bool {
	_, begun := errors.AsType[*begunError](cause)
	return begun
}

// A Bulk carries out items whose assets are changed many per request. Repeating a request resolves
// every unconfirmed item, and one request at a time is fast enough.
type Bulk struct {
	migrate.Deps
	Method
	Run         state.Run
	Wait        time.Duration   // how long to retry when all requests fail
	RetryPauses []time.Duration // the pauses between tries meanwhile
	Stop        <-chan struct{}
	streak      failureStreak
}

// Apply applies the planned items. A refusal of an item is not an error. An error means that the
// whole run ends early, as in Applier.Apply.
func (b *Bulk) Apply(ctx context.Context) error {
	for after := ""; ; {
		if err := b.shouldStop(ctx); err != nil {
			return err
		}
		batch, err := b.State.Take(ctx, b.Run.Num, state.Next{After: sources.Key(after), N: bulkBatch, Time: b.Now(), Of: b.Kind()})
		if err != nil || len(batch) == 0 {
			return err
		}
		faultpoint.Hit(faultpoint.Taken)
		if err := b.change(ctx, batch); err != nil {
			return err
		}
		after = string(batch[len(batch)-1].Key) // or each search for the next item would read all finished ones
	}
}

func (b *Bulk) shouldStop(ctx context.Context) error {
	select {
	case <-b.Stop:
		return migrate.ErrStopped
	default:
		return context.Cause(ctx)
	}
}

// Resolve checks items that an earlier process was changing, so that none is in progress.
// Unfinished items are planned again, also if the service does not answer: the next attempt shows
// the error. Items that were started and cannot be finished are planned again, too, because they
// must not prevent every later run from starting.
func (b *Bulk) Resolve(ctx context.Context, items []state.Item) error {
	var again []state.Item
	for {
		done, undone, left, unknownErr := b.lookAt(ctx, items)
		if err := b.record(ctx, items, done); err != nil {
			return err
		}
		again = append(again, undone...)
		if !migrate.HasClass(unknownErr, retry.Permanent) && !mayNotFinish(unknownErr) {
			return errors.Join(b.planAgain(ctx, again), unknownErr)
		}
		again, items = append(again, left[0]), left[1:]
	}
}

// mayNotFinish reports whether the credentials do not allow to finish a begun change.
func mayNotFinish(err error) bool { return hasBegun(err) && assets.IsAuth(err) }

// planAgain releases unconfirmed items.
func (b *Bulk) planAgain(ctx context.Context, items []state.Item) error {
	if len(items) == 0 {
		return nil
	}
	if err := b.State.Resend(ctx, b.Run.Num, ItemKeys(items), b.Now()); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Resent)
	return b.release(ctx, items)
}

// lookAt returns which items are done. It ends at the first one without an answer, to wait for a
// failing service only once.
func (b *Bulk) lookAt(ctx context.Context, items []state.Item) (done []state.Outcome, undone, left []state.Item, err error) {
	for n, i := range items {
		o, err := b.Look(ctx, i)
		switch {
		case err != nil:
			return done, undone, items[n:], err
		case o.State == "":
			undone = append(undone, i)
		default:
			done = append(done, o)
		}
	}
	return done, undone, nil, nil
}

// change changes a batch, with retries. Its error ends the run.
func (b *Bulk) change(ctx context.Context, batch []state.Item) error {
	began := time.Now()
	for tries := 1; ; tries++ {
		outcomes, cause := b.Ask(ctx, batch)
		faultpoint.Hit(faultpoint.Sent)
		left := without(batch, outcomes)
		if err := b.record(ctx, batch, outcomes); err != nil && cause != nil && len(left) > 0 {
			return errors.Join(err, b.giveUp(ctx, left, cause, tries))
		} else if err != nil {
			return b.stopWith(ctx, err, left)
		}
		switch batch = left; {
		case len(batch) == 0 && migrate.HasClass(cause, retry.Fatal):
			return b.why(ctx, batch, cause)
		case len(batch) == 0:
			return nil
		case migrate.HasClass(cause, retry.Permanent) && len(batch) > 1:
			return b.separately(ctx, batch)
		case migrate.HasClass(cause, retry.Permanent):
			return b.refuse(ctx, batch, cause)
		case !b.pauses(ctx, began, tries, cause):
			return b.giveUp(ctx, batch, cause, tries)
		}
	}
}

// without returns the items without an outcome.
func without(items []state.Item, outcomes []state.Outcome) (left []state.Item) {
	known := make(map[sources.Key]bool, len(outcomes))
	for _, o := range outcomes {
		known[o.Key] = true
	}
	for _, i := range items {
		if !known[i.Key] {
			left = append(left, i)
		}
	}
	return left
}

// record writes outcomes, also while the run is being aborted, and stops the run if assets in a row
// are refused in the same way.
func (b *Bulk) record(ctx context.Context, items []state.Item, outcomes []state.Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := b.State.Record(ctx, b.Run.Num, b.Run.Pair.ID, outcomes); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Recorded)
	byKey := make(map[sources.Key]state.Item, len(items))
	for _, i := range items {
		byKey[i.Key] = i
	}
	var broken error
	for _, o := range outcomes {
		if o.State != state.ItemUnconfirmed {
			b.Watch.Progress(1, 0)
		}
		b.Watch.Item(byKey[o.Key], o)
		if broken == nil {
			broken = b.breaker(byKey[o.Key], o)
		}
	}
	return broken
}

func (b *Bulk) breaker(i state.Item, o state.Outcome) error {
	if o.State != state.ItemFailed {
		b.streak = failureStreak{}
		return nil
	}
	alike := strings.NewReplacer(i.Asset, "", string(i.Key), "", i.Name, "").Replace(o.Error)
	return b.streak.failed(o, alike, func(string) bool { return false })
}

// separately sends a request for each asset of a refused batch, because one of them may have caused
// the refusal.
func (b *Bulk) separately(ctx context.Context, batch []state.Item) error {
	for n := range batch {
		if err := b.shouldStop(ctx); err != nil {
			return b.stopWith(ctx, err, batch[n:])
		}
		if err := b.change(ctx, batch[n:n+1]); err != nil {
			return b.stopWith(ctx, err, batch[n+1:])
		}
	}
	return nil
}

// refuse fails an item whose request is refused, unless it was done already.
func (b *Bulk) refuse(ctx context.Context, one []state.Item, cause error) error {
	done, _, left, err := b.lookAt(ctx, one)
	switch {
	case len(left) > 0 && !migrate.HasClass(err, retry.Permanent):
		return b.giveUp(ctx, one, Begun(err), 1)
	case len(done) == 0:
		done = []state.Outcome{Failure(one[0], cause)}
	}
	return b.record(ctx, one, done)
}

// Failure returns the outcome of an item that is not tried again. A fatal error concerns only this
// asset, because the service answered about others.
func Failure(i state.Item, why error) state.Outcome {
	class, _ := retry.Classify(why)
	if class == retry.Fatal {
		class = retry.Permanent
	}
	return state.Outcome{Key: i.Key, State: state.ItemFailed, Class: string(class), Error: why.Error()}
}

// pauses waits before another attempt after a temporary failure, if the run may wait.
func (b *Bulk) pauses(ctx context.Context, began time.Time, tries int, cause error) bool {
	class, asked := retry.Classify(cause)
	if !class.Repeatable() || b.shouldStop(ctx) != nil || len(b.RetryPauses) == 0 {
		return false
	}
	pause, until := max(asked, b.RetryPauses[min(tries, len(b.RetryPauses))-1]), began.Add(b.Wait)
	if time.Now().Add(pause).After(until) {
		return false
	}
	if tries == 1 {
		b.Watch.Paused(cause.Error(), until)
	}
	return retry.Sleep(retry.WithDrain(ctx, b.Stop), pause) == nil
}

// giveUp ends the run during a batch whose request may have taken effect: the destination is
// checked, and items without an answer stay unconfirmed. If a request was refused for the whole
// run, it had no effect, unless it was not the first one.
func (b *Bulk) giveUp(ctx context.Context, batch []state.Item, cause error, tries int) error {
	why := b.why(ctx, batch, cause)
	if migrate.HasClass(cause, retry.Fatal) && tries == 1 && !hasBegun(cause) {
		return b.stopWith(ctx, why, batch)
	}
	done, undone, left, err := b.lookAt(retry.WithDrain(ctx, nil), batch)
	faultpoint.Hit(faultpoint.Looked)
	for _, i := range left {
		done = append(done, state.Outcome{Key: i.Key, State: state.ItemUnconfirmed, Class: string(retry.Transient),
			Error: fmt.Sprintf("cannot check the state of its asset: %v", err)})
	}
	if migrate.HasClass(err, retry.Fatal) && !migrate.HasClass(why, retry.Fatal) {
		why = errors.Join(why, err)
	}
	if broken := b.record(ctx, batch, done); broken != nil {
		why = errors.Join(why, broken)
	}
	return b.stopWith(ctx, why, undone)
}

// why returns the error of a run that ends with a failed batch.
func (b *Bulk) why(ctx context.Context, batch []state.Item, cause error) error {
	class, _ := retry.Classify(cause)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(cause, retry.ErrDraining) || b.shouldStop(ctx) != nil:
		return migrate.ErrStopped
	case class.Repeatable():
		return &BreakerError{Items: len(batch), Last: cause.Error(), Passes: true}
	}
	return cause
}

// stopWith releases items that were not done, and returns why the run ends.
func (b *Bulk) stopWith(ctx context.Context, why error, items []state.Item) error {
	if err := b.release(ctx, items); err != nil {
		return errors.Join(why, err)
	}
	return why
}

func (b *Bulk) release(ctx context.Context, items []state.Item) error {
	if len(items) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err := b.State.Release(ctx, b.Run.Num, ItemKeys(items))
	faultpoint.Hit(faultpoint.Released)
	return err
}

// ItemKeys returns the keys of items, in their order.
func ItemKeys(items []state.Item) []sources.Key {
	keys := make([]sources.Key, len(items))
	for n, i := range items {
		keys[n] = i.Key
	}
	return keys
}
