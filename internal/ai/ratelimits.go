package ai

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"assetferry/internal/retry"
)

const (
	// minute is the window of the rate limits.
	minute = time.Minute
	// jitter is the assumed difference in the latency of requests. Within it, no more requests
	// arrive in a minute than were sent in one. It costs a twentieth of the rate.
	jitter = 3 * time.Second
)

// Rates are limits per minute; 0 is no limit.
type Rates struct {
	LLMRequests float64
	WebSearches float64
	WebScrapes  float64
	InputTokens float64 // weighted by model; the weights are unknown
}

// Limits are the limits of an organisation, and of each of its users.
type Limits struct{ PerOrganisation, PerUser Rates }

// SaaSLimits returns the limits of the vendor's service. On premises there are none.
func SaaSLimits() Limits {
	return Limits{
		PerOrganisation: Rates{LLMRequests: 1000, WebSearches: 300, WebScrapes: 100, InputTokens: 16e6},
		PerUser:         Rates{LLMRequests: 75, WebSearches: 30, WebScrapes: 5, InputTokens: 1e6},
	}
}

// A Cost is the cost of a request in each limit.
type Cost struct{ LLM, Search, Scrape, Tokens int }

func (c Cost) amounts() [kinds]float64 {
	return [kinds]float64{float64(c.LLM), float64(c.Search), float64(c.Scrape), float64(c.Tokens)}
}

func (r Rates) amounts() [kinds]float64 {
	return [kinds]float64{r.LLMRequests, r.WebSearches, r.WebScrapes, r.InputTokens}
}

// kinds is the number of limits.
const kinds = 4

// A Quota delays requests so that no period of a minute exceeds the limits. It spreads
// requests, because the requests of earlier processes are unknown and a burst after them would
// be refused. A nil Quota has no limits. Several goroutines may call its methods.
type Quota struct {
	slot         chan struct{} // held by the next waiting request of the user
	user         meters        // locked together with those of the organisation
	organisation *shared
	limits       Limits
	now          func() time.Time
}

// shared is the quota of all users of an organisation.
type shared struct {
	mu sync.Mutex
	meters
}

type meters [kinds]meter

// NewQuota returns the quota of one user. Now is the clock; nil means time.Now.
func NewQuota(l Limits, now func() time.Time) *Quota {
	if now == nil {
		now = time.Now
	}
	return newUserQuota(l, &shared{meters: metersOf(l.PerOrganisation)}, now)
}

func newUserQuota(l Limits, organisation *shared, now func() time.Time) *Quota {
	return &Quota{slot: make(chan struct{}, 1), user: metersOf(l.PerUser), organisation: organisation, limits: l, now: now}
}

func metersOf(r Rates) (all meters) {
	for kind, limit := range r.amounts() {
		all[kind].limit = limit
	}
	return all
}

// A CostError reports a request that exceeds a limit by itself, so it can never be sent.
type CostError struct {
	Cost  Cost
	Limit float64
}

func (e *CostError) Error() string {
	return fmt.Sprintf("a request of about %d tokens exceeds the limit of %.0f per minute", e.Cost.Tokens, e.Limit)
}

// Class is permanent: the cost does not change.
func (e *CostError) Class() retry.Class { return retry.Permanent }

// Hint returns the next step.
func (e *CostError) Hint() string { return "send less in each request" }

// Wait waits until a request with this cost may be sent, in the order of calls for each user.
// The error is the cause of the context, retry.ErrDraining instead of a wait, or a
// *[CostError]; the quota then does not change.
func (q *Quota) Wait(ctx context.Context, cost Cost) error {
	if q == nil {
		return nil
	}
	select {
	case q.slot <- struct{}{}:
	case <-retry.Draining(ctx):
		return retry.ErrDraining
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-q.slot }()
	for {
		wait, err := q.take(cost)
		if wait == 0 || err != nil {
			return err
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// take accepts a request or returns the minimum wait. Other users of the organisation may be
// faster.
func (q *Quota) take(cost Cost) (wait time.Duration, err error) {
	q.organisation.mu.Lock()
	defer q.organisation.mu.Unlock()
	now := q.now()
	amounts := cost.amounts()
	for kind, amount := range amounts {
		for _, m := range []*meter{&q.user[kind], &q.organisation.meters[kind]} {
			if m.limit > 0 && amount > m.limit {
				return 0, &CostError{cost, m.limit}
			}
			wait = max(wait, m.earliest(now, amount).Sub(now))
		}
	}
	if wait > 0 {
		return wait, nil
	}
	for kind, amount := range amounts {
		q.user[kind].take(now, amount)
		q.organisation.meters[kind].take(now, amount)
	}
	return 0, nil
}

// A meter enforces one limit. It records the accepted amounts in the last window and spaces
// requests: each one is followed by a pause in proportion to its share of the limit.
//
// The pause is not sufficient for different amounts: a window may begin just before one request
// and end just after another. So the window is also checked.
type meter struct {
	limit float64 // per minute; 0: none
	taken []taken // oldest first
	sum   float64
}

type taken struct {
	at     time.Time
	amount float64
}

// earliest returns when the meter accepts an amount.
func (m *meter) earliest(now time.Time, amount float64) (at time.Time) {
	if m.limit == 0 || amount == 0 {
		return now
	}
	m.forget(now)
	if n := len(m.taken); n > 0 {
		last := m.taken[n-1]
		at = last.at.Add(time.Duration(last.amount / m.limit * float64(minute+jitter)))
	}
	sum := m.sum
	for _, old := range m.taken {
		if sum+amount <= m.limit {
			break
		}
		sum -= old.amount
		at = latest(at, old.at.Add(minute+jitter))
	}
	return at
}

// forget removes entries that no current or later window contains.
func (m *meter) forget(now time.Time) {
	n := 0
	for n < len(m.taken) && now.Sub(m.taken[n].at) >= minute+jitter {
		m.sum -= m.taken[n].amount
		n++
	}
	m.taken = slices.Delete(m.taken, 0, n)
}

func (m *meter) take(at time.Time, amount float64) {
	if m.limit > 0 && amount > 0 {
		m.taken = append(m.taken, taken{at, amount})
		m.sum += amount
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	charactersPerToken = 3   // a guess, for a language with few; the safe side
	pixelsPerToken     = 750 // of an image at one provider; a guess for others
)

// EstimateTokens estimates the input tokens of text and images, rounded up. The service does
// not document how it counts.
func EstimateTokens(text string, imagePixels int) int {
	return (len(text)+charactersPerToken-1)/charactersPerToken + (imagePixels+pixelsPerToken-1)/pixelsPerToken
}
