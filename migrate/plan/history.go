package plan

import (
	"context"

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
	redescribed redescriber
	approved    *approvals

	stop func() // of redescribed
}

// openHistory begins after a key. It tells of the receipts of no object, if missed is set.
func (p *planning) openHistory(ctx context.Context, after sources.Key, missed func(state.Receipt) error) *history {
	receipts := p.Journal.Fingerprints
	if p.Unchanged != nil { // which is told of all that is in them
		receipts = p.Journal.Receipts
	}
	h := &history{receipts: newMergeCursor(receipts(ctx, p.run.Pair.ID, after), func(r state.Receipt) sources.Key { return r.Key })}
	h.receipts.passed = missed
	h.failures = newMergeCursor(p.Journal.Failures(ctx, p.run.Pair.ID, after), func(f state.Failure) sources.Key { return f.Key })
	h.redescribed, h.stop = p.redescriptions(ctx, after)
	h.memory, h.approved = p.remembered(h.receipts), p.approvals(after)
	return h
}

func (h *history) close() {
	h.receipts.stop()
	h.failures.stop()
	h.stop()
	h.approved.close()
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
			return migrate.Unknown, state.Receipt{}, err
		case sameFingerprint(o, receipt.Object, precision):
			return p.trust(migrate.Same), receipt, nil
		case o.Size != receipt.Size:
			return migrate.Changed, receipt, nil
		case p.provesContent(o.VersionTag) && o.VersionTag == receipt.VersionTag:
			return p.trust(migrate.Seeming), receipt, nil
		}
		return migrate.Maybe, receipt, nil
	}
}
