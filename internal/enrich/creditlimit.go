package enrich

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	requestLimit = 25             // requests between two queries of the usage
	budgetSince  = 24 * time.Hour // how far the queried period begins before the run
)

// A budget stops a run at its credit limit. The service reports the credits used, including
// those of other processes. Between two queries, the budget estimates them from the average
// cost of a request. Requests in progress can exceed the limit slightly.
type budget struct {
	most  float64 // 0: no limit
	since time.Time
	base  float64 // credits used before the run
	knows bool    // the service reports the credits used

	mu       sync.Mutex
	spent    float64 // at the last query
	each     float64 // credits per request; 0: unknown
	calls    int     // finished in this run
	unseen   int     // finished since the last query
	underWay int
}

// start queries the credits used before the run. A service that does not report them is an
// error only if there is a limit.
func (b *budget) start(ctx context.Context, r *asker) error {
	b.most, b.since = r.request.MaxCredits, r.Now().Add(-budgetSince)
	base, err := r.Service.Credits(ctx, b.since)
	if err != nil {
		if b.most > 0 {
			return fmt.Errorf("the limit of %g credits cannot be enforced, because the service does not report the credits used: %w", b.most, err)
		}
		return context.Cause(ctx)
	}
	b.base, b.knows = base, true
	cost, err := r.Store.Cost(ctx, r.Host, string(r.request.Kind))
	if err != nil {
		return err
	}
	if cost.Calls > 0 {
		b.each = cost.Credits / float64(cost.Calls)
	}
	return nil
}

// take checks that another request is within the limit. If not, it returns ErrBudget.
func (b *budget) take(ctx context.Context, r *asker) error {
	if b.most <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unseen >= requestLimit || b.each == 0 && b.calls > 0 || b.exceeded() {
		if err := b.look(ctx, r); err != nil {
			return fmt.Errorf("query the credits used: %w", err)
		}
	}
	if b.exceeded() {
		return fmt.Errorf("%w: %.4g of %.4g used", ErrBudget, b.spent, b.most)
	}
	b.underWay++
	return nil
}

// exceeded reports whether another request could exceed the limit.
func (b *budget) exceeded() bool {
	return b.spent+b.each*float64(b.unseen+b.underWay+1) > b.most
}

func (b *budget) look(ctx context.Context, r *asker) error {
	now, err := r.Service.Credits(ctx, b.since)
	if err != nil {
		return err
	}
	b.spent, b.unseen = max(0, now-b.base), 0
	if b.calls > 0 && b.spent > 0 {
		b.each = b.spent / float64(b.calls)
	}
	return nil
}

// done counts a finished request.
func (b *budget) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most > 0 {
		b.underWay--
		b.unseen++
		b.calls++
	}
}

// total returns the credits that the run used, or nil if the service does not report them.
func (b *budget) total(ctx context.Context, r *asker) *float64 {
	if !b.knows {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	now, err := r.Service.Credits(ctx, b.since)
	if err != nil {
		return nil
	}
	spent := max(0, now-b.base)
	return &spent
}
