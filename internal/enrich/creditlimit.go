package enrich

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	requestLimit = 25             // requests between two queries of the usage
	usagePeriod  = 24 * time.Hour // how far the queried period begins before the run
)

// A creditLimit stops a run at its credit limit. The service reports the credits used, including
// those of other processes. Between two queries, it estimates them from the average
// cost of a request. Requests in progress can exceed the limit slightly.
type creditLimit struct {
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
func (l *creditLimit) start(ctx context.Context, r *asker) error {
	l.most, l.since = r.request.MaxCredits, r.Now().Add(-usagePeriod)
	base, err := r.Service.Credits(ctx, l.since)
	if err != nil {
		if l.most > 0 {
			return fmt.Errorf("the limit of %g credits cannot be enforced, because the service does not report the credits used: %w", l.most, err)
		}
		return context.Cause(ctx)
	}
	l.base, l.knows = base, true
	cost, err := r.Store.Cost(ctx, r.Host, string(r.request.Kind))
	if err != nil {
		return err
	}
	if cost.Calls > 0 {
		l.each = cost.Credits / float64(cost.Calls)
	}
	return nil
}

// take checks that another request is within the limit. If not, it returns ErrCreditLimit.
func (l *creditLimit) take(ctx context.Context, r *asker) error {
	if l.most <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unseen >= requestLimit || l.each == 0 && l.calls > 0 || l.exceeded() {
		if err := l.look(ctx, r); err != nil {
			return fmt.Errorf("query the credits used: %w", err)
		}
	}
	if l.exceeded() {
		return fmt.Errorf("%w: %.4g of %.4g used", ErrCreditLimit, l.spent, l.most)
	}
	l.underWay++
	return nil
}

// exceeded reports whether another request could exceed the limit.
func (l *creditLimit) exceeded() bool {
	return l.spent+l.each*float64(l.unseen+l.underWay+1) > l.most
}

func (l *creditLimit) look(ctx context.Context, r *asker) error {
	now, err := r.Service.Credits(ctx, l.since)
	if err != nil {
		return err
	}
	l.spent, l.unseen = max(0, now-l.base), 0
	if l.calls > 0 && l.spent > 0 {
		l.each = l.spent / float64(l.calls)
	}
	return nil
}

// done counts a finished request.
func (l *creditLimit) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most > 0 {
		l.underWay--
		l.unseen++
		l.calls++
	}
}

// total returns the credits that the run used, or nil if the service does not report them.
func (l *creditLimit) total(ctx context.Context, r *asker) *float64 {
	if !l.knows {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	now, err := r.Service.Credits(ctx, l.since)
	if err != nil {
		return nil
	}
	spent := max(0, now-l.base)
	return &spent
}
