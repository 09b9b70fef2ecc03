package ai

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/test/seedtest"
)

// A passed request was accepted by the quota.
type passed struct {
	at   time.Time
	user int
	cost Cost
}

// hammer makes users send as many requests as possible for ten minutes, several in parallel each.
// next returns the costs.
func hammer(t *testing.T, l Limits, users int, next func() Cost) (all []passed) {
	t.Helper()
	var mu sync.Mutex
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	first := NewQuota(l, nil)
	var done sync.WaitGroup
	for user := range users {
		b := first
		if user > 0 {
			b = newUserQuota(l, first.organisation, first.now) // quota of another user of the organisation
		}
		for range 4 {
			done.Go(func() {
				for {
					mu.Lock()
					cost := next()
					mu.Unlock()
					if b.Wait(ctx, cost) != nil {
						return
					}
					mu.Lock()
					all = append(all, passed{time.Now(), user, cost})
					mu.Unlock()
				}
			})
		}
	}
	done.Wait()
	return all
}

// most returns the maximum number of requests in any minute, including both ends, and their sum.
func most(at []time.Duration, amounts []float64) (peak, sum float64) {
	for i := range at {
		sum += amounts[i]
		var within float64
		for j := i; j < len(at) && at[j]-at[i] <= minute; j++ {
			within += amounts[j]
		}
		peak = max(peak, within)
	}
	return peak, sum
}

// check verifies accepted requests against limits: no minute exceeds one, and ten minutes use nine
// tenths of the tightest.
func check(t *testing.T, all []passed, l Limits, users int) {
	t.Helper()
	best := 0.0
	see := func(whose string, all []passed, limits Rates) {
		for kind, limit := range limits.amounts() {
			var at []time.Duration
			var amounts []float64
			for _, p := range all {
				if amount := p.cost.amounts()[kind]; amount > 0 && limit > 0 {
					at, amounts = append(at, p.at.Sub(all[0].at)), append(amounts, amount)
				}
			}
			peak, sum := most(at, amounts)
			if peak > limit {
				t.Errorf("%s, kind %d: %.0f within a minute, above %.0f", whose, kind, peak, limit)
			}
			if limit > 0 {
				best = max(best, sum/(10*limit))
			}
		}
	}
	perUser := make([][]passed, users)
	for _, p := range all {
		perUser[p.user] = append(perUser[p.user], p)
	}
	see("organisation", all, l.PerOrganisation)
	for _, own := range perUser {
		see("user", own, l.PerUser)
	}
	if best < 0.9 {
		t.Errorf("no limit was used by nine tenths: %.3f", best)
	}
}

func TestQuota(t *testing.T) {
	random := seedtest.Rand(t)
	saas := SaaSLimits()
	for _, c := range []struct {
		name   string
		limits Limits
		users  int
		next   func() Cost
	}{
		{"messages of one user", saas, 1, func() Cost { return Cost{LLM: 1, Tokens: 1000} }},
		{"searches of one user", saas, 1, func() Cost { return Cost{LLM: 1, Search: 1, Tokens: 1000} }},
		{"pages of one user", saas, 1, func() Cost { return Cost{Scrape: 1} }},
		{"tokens of one user", saas, 1, func() Cost { return Cost{LLM: 1, Tokens: 15_000 + random.IntN(20_000)} }},
		{"small and large of one user", saas, 1, func() Cost { return Cost{Tokens: pick(random, 10, 30_000)} }},
		{"messages of an organisation", saas, 16, func() Cost { return Cost{LLM: 1, Tokens: 100} }},
		{"searches of an organisation", saas, 12, func() Cost { return Cost{LLM: 1, Search: 1} }},
		{"pages of an organisation", saas, 24, func() Cost { return Cost{Scrape: 1} }},
		{"tokens of an organisation", saas, 20, func() Cost { return Cost{LLM: 1, Tokens: 20_000 + random.IntN(10_000)} }},
		{"odd limits", Limits{PerUser: Rates{LLMRequests: 7, InputTokens: 1234}}, 1, func() Cost { return Cost{LLM: 1, Tokens: random.IntN(60)} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := hammer(t, c.limits, c.users, c.next)
				check(t, all, c.limits, c.users)
			})
		})
	}
}

func pick(random *rand.Rand, from ...int) int { return from[random.IntN(len(from))] }

// The test verifies that no more requests than the limit arrive in a minute, even if their
// latencies differ.
func TestQuotaAllowsJitter(t *testing.T) {
	random := seedtest.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		l := Limits{PerUser: Rates{LLMRequests: 75, InputTokens: 1e6}}
		all := hammer(t, l, 1, func() Cost { return Cost{LLM: 1, Tokens: random.IntN(30_000)} })
		for i := range all {
			all[i].at = all[i].at.Add(time.Duration(random.Int64N(int64(jitter))))
		}
		for i := range all { // windows starting with each request, in any order
			var n, tokens float64
			for j := range all {
				if d := all[j].at.Sub(all[i].at); d >= 0 && d < minute {
					n, tokens = n+1, tokens+float64(all[j].cost.Tokens)
				}
			}
			if n > 75 || tokens > 1e6 {
				t.Fatalf("%.0f requests and %.0f tokens arrive within a minute", n, tokens)
			}
		}
	})
}

func TestQuotaWithoutLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var none *Quota
		onPremises := NewQuota(Limits{}, nil)
		idle := NewQuota(SaaSLimits(), nil)
		for range 100 {
			for _, b := range []*Quota{none, onPremises} {
				if err := b.Wait(t.Context(), Cost{LLM: 1, Search: 1, Scrape: 1, Tokens: 1e9}); err != nil {
					t.Fatal(err)
				}
			}
			if err := idle.Wait(t.Context(), Cost{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v without any limit", took)
		}
	})
}

func TestQuotaCostTooLarge(t *testing.T) {
	b := NewQuota(SaaSLimits(), nil)
	err := b.Wait(t.Context(), Cost{LLM: 1, Tokens: 2e6})
	large, ok := errors.AsType[*CostError](err)
	if class, _ := retry.Classify(err); !ok || large.Limit != 1e6 || class != retry.Permanent || large.Hint() == "" {
		t.Errorf("got %v", err)
	}
	if err := b.Wait(t.Context(), Cost{LLM: 1, Tokens: 1e6}); err != nil {
		t.Errorf("what was refused counts: %v", err)
	}
}

// The test verifies that a cancelled wait does not change the quota.
func TestQuotaWaitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := NewQuota(Limits{PerUser: Rates{LLMRequests: 1}}, nil)
		if err := b.Wait(t.Context(), Cost{LLM: 1}); err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(enough) })
		for range 2 { // one is next, and another one waits for it
			go func() {
				if err := b.Wait(ctx, Cost{LLM: 1}); !errors.Is(err, enough) {
					t.Errorf("got %v", err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		stop := make(chan struct{})
		close(stop)
		if err := b.Wait(retry.WithDrain(t.Context(), stop), Cost{LLM: 1}); !errors.Is(err, retry.ErrDraining) {
			t.Errorf("got %v", err)
		}
		if err := b.Wait(t.Context(), Cost{LLM: 1}); err != nil || time.Since(start) != minute+jitter {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

// The test verifies that a quota keeps only the requests of the last window, however long a process
// runs.
func TestQuotaForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewQuota(SaaSLimits(), nil)
		for range 1000 {
			if err := b.Wait(t.Context(), Cost{LLM: 1, Tokens: 10}); err != nil {
				t.Fatal(err)
			}
		}
		for kind := range kinds {
			if n := len(b.user[kind].taken); n > 80 {
				t.Errorf("kind %d: keeps %d", kind, n)
			}
		}
	})
}

func TestEstimateTokens(t *testing.T) {
	for _, c := range []struct {
		text   string
		pixels int
		want   int
	}{{"", 0, 0}, {"a", 0, 1}, {"abc", 0, 1}, {"abcd", 0, 2}, {"", 1, 1}, {"", 750_000, 1000}, {"abc", 751, 3}} {
		if got := EstimateTokens(c.text, c.pixels); got != c.want {
			t.Errorf("%q and %d pixels: got %d, want %d", c.text, c.pixels, got, c.want)
		}
	}
}
