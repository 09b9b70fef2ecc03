package plan

import (
	"context"
	"errors"
	"iter"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A history is what the state database remembers of objects, and what was approved of them. It is
// read next to the objects, in key order.
type history struct {
	memory      recall
	receipts    *mergeCursor[state.Receipt]
	failures    *mergeCursor[state.Failure]
	described   *mergeCursor[state.Described]
	redescribed redescriber
	approved    *approvals
}

// openHistory begins after a key. It tells of the receipts of no object, if missed is set.
func (p *planning) openHistory(ctx context.Context, after sources.Key, missed func(state.Receipt) error) *history {
	receipts := p.State.Fingerprints
	if p.Unchanged != nil { // which is told of all that is in them
		receipts = p.State.Receipts
	}
	h := &history{receipts: newMergeCursor(receipts(ctx, p.run.Pair.ID, after), func(r state.Receipt) sources.Key { return r.Key })}
	h.receipts.passed = missed
	h.failures = newMergeCursor(p.State.Failures(ctx, p.run.Pair.ID, after), func(f state.Failure) sources.Key { return f.Key })
	h.redescribed, h.described = p.redescriptions(ctx, after)
	h.memory, h.approved = p.remembered(h.receipts), p.approvals(after)
	return h
}

func (h *history) close() {
	h.receipts.stop()
	h.failures.stop()
	h.described.stop()
	h.approved.close()
}

// unread returns the error of what was read ahead and no object asked for.
func (h *history) unread() error {
	return errors.Join(h.receipts.err, h.failures.err, h.described.err)
}

// recall tells what the state database knows of an object.
type recall func(sources.Object) (migrate.Memory, state.Receipt, error)

// remembered gives a recall for objects in key order.
func (p *Planner) remembered(known *mergeCursor[state.Receipt]) recall {
	precision := p.Source.Traits().Precision
	return func(o sources.Object) (migrate.Memory, state.Receipt, error) {
		receipt, found, err := known.find(o.Key)
		switch {
		case err != nil || !found:
			return migrate.MemoryNone, state.Receipt{}, err
		case sameFingerprint(o, receipt.Object, precision):
			return p.trust(migrate.MemorySame), receipt, nil
		case o.Size != receipt.Size:
			return migrate.MemoryChanged, receipt, nil
		case p.provesContent(o.VersionTag) && o.VersionTag == receipt.VersionTag:
			return p.trust(migrate.MemorySeeming), receipt, nil
		}
		return migrate.MemoryMaybe, receipt, nil
	}
}

// recollections are all that is remembered of what a listing may have. What is passed in it and not
// listed is told to unlisted.
type recollections struct {
	*history
	sidecars  *mergeCursor[state.Sidecar] // as they were listed last
	aliases   *mergeCursor[state.Alias]   // the same
	unsettled *mergeCursor[state.Failure] // that may have arrived all the same
	outcomes  *mergeCursor[state.Item]    // of this run, from before it was listed again
}

// openRecollections begins where the run's listing stopped.
func (p *planning) openRecollections(ctx context.Context, u *unlisted) *recollections {
	pair, after := p.run.Pair.ID, p.run.Cursor
	r := &recollections{history: p.openHistory(ctx, after, u.receipts(ctx))}
	r.sidecars = newMergeCursor(p.State.Sidecars(ctx, pair, after), func(c state.Sidecar) sources.Key { return c.Key })
	r.sidecars.passed = func(c state.Sidecar) error { return u.sidecar(ctx, c) }
	r.aliases = newMergeCursor(p.State.AllAliases(ctx, pair, after), func(a state.Alias) sources.Key { return a.Key })
	r.aliases.passed = func(a state.Alias) error { return u.alias(ctx, a) }
	r.unsettled = newMergeCursor(p.unclear(ctx), func(f state.Failure) sources.Key { return f.Key })
	r.unsettled.passed = func(f state.Failure) error { return u.failure(ctx, f) }
	r.outcomes = newMergeCursor(p.doneBefore(ctx, u.listing.decided), func(i state.Item) sources.Key { return i.Key })
	r.outcomes.passed = u.outcome
	return r
}

func (r *recollections) close() {
	r.history.close()
	r.sidecars.stop()
	r.aliases.stop()
	r.unsettled.stop()
	r.outcomes.stop()
}

// A recollection is what is known of an object before it is listed.
type recollection struct {
	memory     migrate.Memory
	receipt    state.Receipt
	alias      state.Alias
	shares     bool // it is an alias
	wasDone    bool // by this run, before it was listed again
	approved   state.Item
	isApproved bool
}

// of finds what is remembered of the next object.
func (r *recollections) of(o sources.Object) (is recollection, err error) {
	if is.memory, is.receipt, err = r.memory(o); err != nil {
		return is, err
	}
	if is.alias, is.shares, err = r.aliases.find(o.Key); err != nil {
		return is, err
	}
	if _, _, err = r.unsettled.find(o.Key); err != nil { // one that is listed is decided as all else
		return is, err
	}
	if _, is.wasDone, err = r.outcomes.find(o.Key); err != nil {
		return is, err
	}
	is.approved, is.isApproved, err = r.approved.of(o.Key)
	return is, err
}

// rest passes all that is left but the receipts.
func (r *recollections) rest() error {
	return errors.Join(r.unread(), r.sidecars.rest(), r.aliases.rest(), r.unsettled.rest(), r.outcomes.rest())
}

// unclear lists the objects after the cursor that were sent and of which nobody can tell
// whether they arrived. To ask for them anew is how a person says that this is settled.
func (p *planning) unclear(ctx context.Context) iter.Seq2[state.Failure, error] {
	return func(yield func(state.Failure, error) bool) {
		if !p.Rules.FollowsDeletions() || p.RetryParked {
			return
		}
		for f, err := range p.State.Failures(ctx, p.run.Pair.ID, p.run.Cursor) {
			if err == nil && !f.Unclear {
				continue
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// doneBefore lists what a sync did before it was listed again. Whoever approved a plan wants no
// other one, and all else but a sync brings only what is new.
func (p *planning) doneBefore(ctx context.Context, decided bool) iter.Seq2[state.Item, error] {
	if decided || p.Rules.Sync == nil || p.Approval != nil {
		return func(func(state.Item, error) bool) {}
	}
	return p.State.Items(ctx, p.run.Num, state.ItemDone)
}
