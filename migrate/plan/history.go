package plan

import (
	"context"
	"errors"
	"iter"

	"assetferry/migrate"
	"assetferry/migrate/plan/merge"
	"assetferry/sources"
	"assetferry/state"
)

// A history contains what the state database stores about objects, and their approved items. It is
// read in parallel with the listing, in key order.
type history struct {
	memory      load
	receipts    *merge.Cursor[state.Receipt]
	failures    *merge.Cursor[state.Failure]
	described   *merge.Cursor[state.Described]
	redescribed metadataComparer
	approved    *approvals
}

// openHistory begins after a key. It reports the receipts of no object, if missed is set.
func (p *planning) openHistory(ctx context.Context, after sources.Key, missed func(state.Receipt) error) *history {
	receipts := p.State.Fingerprints
	if p.Unchanged != nil { // the callback receives all their receipts
		receipts = p.State.Receipts
	}
	h := &history{receipts: merge.New(receipts(ctx, p.run.Pair.ID, after), func(r state.Receipt) sources.Key { return r.Key })}
	h.receipts.Passed = missed
	h.failures = merge.New(p.State.Failures(ctx, p.run.Pair.ID, after), func(f state.Failure) sources.Key { return f.Key })
	h.redescribed, h.described = p.metadataChanges(ctx, after)
	h.memory, h.approved = p.remembered(h.receipts), p.approvals(after)
	return h
}

func (h *history) close() {
	h.receipts.Stop()
	h.failures.Stop()
	h.described.Stop()
	h.approved.close()
}

// unread returns an error of rows that were read ahead and not requested.
func (h *history) unread() error {
	return errors.Join(h.receipts.Err(), h.failures.Err(), h.described.Err())
}

// load returns what the state database stores about an object.
type load func(sources.Object) (migrate.Memory, state.Receipt, error)

// remembered returns a load for objects in key order.
func (p *Planner) remembered(known *merge.Cursor[state.Receipt]) load {
	precision := p.Source.Traits().Precision
	return func(o sources.Object) (migrate.Memory, state.Receipt, error) {
		receipt, found, err := known.Find(o.Key)
		o = o.ResizedLike(receipt.Object)
		switch {
		case err != nil || !found:
			return migrate.MemoryNone, state.Receipt{}, err
		case sameFingerprint(o, receipt.Object, precision):
			return p.trust(migrate.MemorySame), receipt, nil
		case o.Size != receipt.Size:
			return migrate.MemoryChanged, receipt, nil
		case p.isSameContent(o.VersionTag, receipt.VersionTag):
			return p.trust(migrate.MemoryTouched), receipt, nil
		}
		return migrate.MemoryPossiblyChanged, receipt, nil
	}
}

// memories are all rows of the state database about the objects of a listing. Rows whose objects
// are not listed are passed to unlisted.
type memories struct {
	*history
	sidecars   *merge.Cursor[state.Sidecar] // as they were listed last
	aliases    *merge.Cursor[state.Alias]   // the same
	unresolved *merge.Cursor[state.Failure] // failures that may have been uploads
	outcomes   *merge.Cursor[state.Item]    // of this run, from before it was listed again
}

// openMemories starts where the run's listing stopped.
func (p *planning) openMemories(ctx context.Context, u *unlisted) *memories {
	pair, after := p.run.Pair.ID, p.run.Cursor
	r := &memories{history: p.openHistory(ctx, after, u.receipts(ctx))}
	r.sidecars = merge.New(p.State.Sidecars(ctx, pair, after), func(c state.Sidecar) sources.Key { return c.Key })
	r.sidecars.Passed = func(c state.Sidecar) error { return u.sidecar(ctx, c) }
	r.aliases = merge.New(p.State.AllAliases(ctx, pair, after), func(a state.Alias) sources.Key { return a.Key })
	r.aliases.Passed = func(a state.Alias) error { return u.alias(ctx, a) }
	r.unresolved = merge.New(p.unclear(ctx), func(f state.Failure) sources.Key { return f.Key })
	r.unresolved.Passed = func(f state.Failure) error { return u.failure(ctx, f) }
	r.outcomes = merge.New(p.doneBefore(ctx, u.listing.decided), func(i state.Item) sources.Key { return i.Key })
	r.outcomes.Passed = u.outcome
	return r
}

func (r *memories) close() {
	r.history.close()
	r.sidecars.Stop()
	r.aliases.Stop()
	r.unresolved.Stop()
	r.outcomes.Stop()
}

// An objectMemory is what is known about an object before it is listed.
type objectMemory struct {
	memory     migrate.Memory
	receipt    state.Receipt
	alias      state.Alias
	shares     bool // it is an alias
	wasDone    bool // by this run, before it was listed again
	approved   state.Item
	isApproved bool
}

// of returns the memory of the next object.
func (r *memories) of(o sources.Object) (is objectMemory, err error) {
	if is.memory, is.receipt, err = r.memory(o); err != nil {
		return is, err
	}
	if is.alias, is.shares, err = r.aliases.Find(o.Key); err != nil {
		return is, err
	}
	if _, _, err = r.unresolved.Find(o.Key); err != nil { // one that is listed is decided as all else
		return is, err
	}
	if _, is.wasDone, err = r.outcomes.Find(o.Key); err != nil {
		return is, err
	}
	is.approved, is.isApproved, err = r.approved.of(o.Key)
	return is, err
}

// rest reads the remaining rows, except receipts.
func (r *memories) rest() error {
	return errors.Join(r.unread(), r.sidecars.Rest(), r.aliases.Rest(), r.unresolved.Rest(), r.outcomes.Rest())
}

// unclear lists the objects after the cursor for which it is unknown whether they were uploaded. A
// person resolves such a case by requesting a retry.
func (p *planning) unclear(ctx context.Context) iter.Seq2[state.Failure, error] {
	return func(yield func(state.Failure, error) bool) {
		if !p.Rules.FollowsDeletions() || p.RetryExhausted {
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

// doneBefore lists the items that a sync completed before it was listed again. A run of an approved
// plan must not do more, and other commands only create new objects.
func (p *planning) doneBefore(ctx context.Context, decided bool) iter.Seq2[state.Item, error] {
	if decided || p.Rules.Sync == nil || p.Approval != nil {
		return func(func(state.Item, error) bool) {}
	}
	return p.State.Items(ctx, p.run.Num, state.ItemDone)
}
