package enrich

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	requestLimit = 25             // after so many the service is asked what was spent
	budgetSince  = 24 * time.Hour // how long before the run the time begins that it is asked about
)

// A budget keeps a run below the credits that it may spend. The service tells what was spent,
// by others, too; between two looks it is estimated by what calls cost so far. What was
// begun last may still come to a little more.
type budget struct {
	most  float64 // 0: no limit
	since time.Time
	base  float64 // what was spent before the run
	knows bool    // the service tells

	mu       sync.Mutex
	spent    float64 // at the last look
	each     float64 // what a call costs; 0: unknown
	calls    int     // that came to an end, all in all
	unseen   int     // of these, since the last look
	underWay int
}

// begin looks what was spent before the run. A service that does not tell is an error only
// where there is a limit to keep to.
func (b *budget) begin(ctx context.Context, r *asker) error {
	b.most, b.since = r.request.MaxCredits, r.Now().Add(-budgetSince)
	base, err := r.Service.Credits(ctx, b.since)
	if err != nil {
		if b.most > 0 {
			return fmt.Errorf("the limit of %g credits cannot be kept to, because the service does not say what was spent: %w", b.most, err)
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

// take makes sure that another call is within the limit, and fails with ErrBudget if not.
func (b *budget) take(ctx context.Context, r *asker) error {
	if b.most <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unseen >= requestLimit || b.each == 0 && b.calls > 0 || b.exceeded() {
		if err := b.look(ctx, r); err != nil {
			return fmt.Errorf("find out what was spent: %w", err)
		}
	}
	if b.exceeded() {
		return fmt.Errorf("%w: %.4g of %.4g are spent", ErrBudget, b.spent, b.most)
	}
	b.underWay++
	return nil
}

// exceeded reports whether another call may be more than the limit allows.
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

// done notes that a call came to its end.
func (b *budget) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most > 0 {
		b.underWay--
		b.unseen++
		b.calls++
	}
}

// total is what the run spent, nil if the service does not tell.
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
