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
	// minute is the window in which the service counts.
	minute = time.Minute
	// jitter is how differently long requests may be on their way without more of them arriving
	// within a minute than left within one. It costs a twentieth of the rate.
	jitter = 3 * time.Second
)

// Rates are how much is allowed within any minute; 0 is no limit.
type Rates struct {
	LLMRequests float64
	WebSearches float64
	WebScrapes  float64
	InputTokens float64 // weighted by the model; the weights are not known
}

// Limits are those of all users of an organisation together, and of each of them.
type Limits struct{ PerOrganisation, PerUser Rates }

// SaaSLimits are those of the service at its vendor's. On premises there are none.
func SaaSLimits() Limits {
	return Limits{
		PerOrganisation: Rates{LLMRequests: 1000, WebSearches: 300, WebScrapes: 100, InputTokens: 16e6},
		PerUser:         Rates{LLMRequests: 75, WebSearches: 30, WebScrapes: 5, InputTokens: 1e6},
	}
}

// A Cost is what a request takes of the limits.
type Cost struct{ LLM, Search, Scrape, Tokens int }

func (c Cost) amounts() [kinds]float64 {
	return [kinds]float64{float64(c.LLM), float64(c.Search), float64(c.Scrape), float64(c.Tokens)}
}

func (r Rates) amounts() [kinds]float64 {
	return [kinds]float64{r.LLMRequests, r.WebSearches, r.WebScrapes, r.InputTokens}
}

// kinds is how many things are limited.
const kinds = 4

// A Budget lets requests begin so that no minute, wherever it begins, has more of them than
// the limits. It spreads them out: what an earlier process sent is not known, and a burst in
// the wake of that would be refused. A nil Budget lets all pass. Its methods may be called
// from several goroutines.
type Budget struct {
	turn         chan struct{} // held by the one request of the user that waits to be next
	user         meters        // locked with those of the organisation
	organisation *shared
	limits       Limits
	now          func() time.Time
}

// shared is what all users of an organisation draw upon.
type shared struct {
	mu sync.Mutex
	meters
}

type meters [kinds]meter

// NewBudget returns the budget of one user of an organisation; now is our clock, nil meaning
// time.Now.
func NewBudget(l Limits, now func() time.Time) *Budget {
	if now == nil {
		now = time.Now
	}
	return budgetOf(l, &shared{meters: metersOf(l.PerOrganisation)}, now)
}

func budgetOf(l Limits, organisation *shared, now func() time.Time) *Budget {
	return &Budget{turn: make(chan struct{}, 1), user: metersOf(l.PerUser), organisation: organisation, limits: l, now: now}
}

func metersOf(r Rates) (all meters) {
	for kind, limit := range r.amounts() {
		all[kind].limit = limit
	}
	return all
}

// A CostError says that one request takes more than a minute allows, so that it can never be
// sent.
type CostError struct {
	Cost  Cost
	Limit float64
}

func (e *CostError) Error() string {
	return fmt.Sprintf("a request of about %d tokens exceeds the limit of %.0f per minute", e.Cost.Tokens, e.Limit)
}

// Class is permanent: it is the same again.
func (e *CostError) Class() retry.Class { return retry.Permanent }

// Hint is the next step.
func (e *CostError) Hint() string { return "send less per request" }

// Wait waits until a request with this cost may be sent, for each user in the order in which
// it was called. The error is the cause of the context, retry.ErrDraining where it would have
// to wait, or a *[CostError]; nothing is used up then.
func (b *Budget) Wait(ctx context.Context, cost Cost) error {
	if b == nil {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
	case <-retry.Draining(ctx):
		return retry.ErrDraining
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-b.turn }()
	for {
		wait, err := b.take(cost)
		if wait == 0 || err != nil {
			return err
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// take lets a request through, or says how long to wait before asking again at least: other
// users of the organisation may be faster.
func (b *Budget) take(cost Cost) (wait time.Duration, err error) {
	b.organisation.mu.Lock()
	defer b.organisation.mu.Unlock()
	now := b.now()
	amounts := cost.amounts()
	for kind, amount := range amounts {
		for _, m := range []*meter{&b.user[kind], &b.organisation.meters[kind]} {
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
		b.user[kind].take(now, amount)
		b.organisation.meters[kind].take(now, amount)
	}
	return 0, nil
}

// A meter keeps to one limit. It knows what was let through within the last window, and
// spaces it out: after each request comes a pause for which its share of the limit lasts.
//
// The pause alone would do for things of one size. Token counts differ, so a window may begin
// just before one request and end just behind another; hence the second look.
type meter struct {
	limit float64 // within a minute; 0 is none
	taken []taken // the oldest first
	sum   float64
}

type taken struct {
	at     time.Time
	amount float64
}

// earliest is when the meter allows so much.
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

// forget drops what no window holds any more that begins now or later.
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
	charactersPerToken = 3   // of a language with few of them; a guess, on the safe side
	pixelsPerToken     = 750 // of an image, as one provider has it; a guess for the others
)

// EstimateTokens is about how many input tokens a text and images with so many pixels in all
// come to, rounded up. How the service counts is not known.
func EstimateTokens(text string, imagePixels int) int {
	return (len(text)+charactersPerToken-1)/charactersPerToken + (imagePixels+pixelsPerToken-1)/pixelsPerToken
}
