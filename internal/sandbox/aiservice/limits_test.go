package aiservice

import (
	"testing"
	"time"

	"assetferry/internal/test/seedtest"
)

func TestWindowSlides(t *testing.T) {
	now := time.Now()
	l := newLimiter(Limits{PerOrganisation: Rates{LLMRequests: 3}, PerUser: Rates{LLMRequests: 2, InputTokens: 100}}, func() time.Time { return now })
	anna, bert := identity{environment: "e", user: "anna"}, identity{environment: "e", user: "bert"}
	call := func(who identity, tokens int, want bool) {
		t.Helper()
		if err := l.take(who, cost{llmRequests: 1, inputTokens: tokens}); (err == nil) != want {
			t.Errorf("after %v: %v, want it let through: %v", now, err, want)
		}
	}
	call(anna, 10, true)
	now = now.Add(30 * time.Second)
	call(anna, 10, true)
	call(anna, 10, false) // two requests of the user
	call(bert, 10, true)
	call(bert, 10, false) // three requests of the organisation
	now = now.Add(30*time.Second - 1)
	call(anna, 10, false)
	now = now.Add(1) // the first one has left the window
	call(anna, 90, true)
	call(anna, 1, false)
	now = now.Add(time.Minute)
	call(anna, 101, false) // more than the limit
	call(anna, 100, true)
	got := l.view()[llmRequests]
	if want := (LimitStats{"llmRequests", LimitUse{3, 7}, LimitUse{2, 5}, 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if tokens := l.view()[inputTokens]; tokens.Refused != 1 || tokens.User.Most != 201 {
		t.Errorf("tokens: %+v", tokens)
	}
}

// TestNoWindowHoldsMore verifies every window of random requests.
func TestNoWindowHoldsMore(t *testing.T) {
	random := seedtest.Rand(t)
	begin := time.Now()
	now := begin
	l := newLimiter(Limits{PerUser: Rates{LLMRequests: 7}, PerOrganisation: Rates{LLMRequests: 11}}, func() time.Time { return now })
	through := map[string][]time.Time{}
	for range 2000 {
		now = now.Add(time.Duration(random.Int64N(int64(8 * time.Second))))
		user := string(rune('a' + random.IntN(3)))
		if l.take(identity{environment: "e", user: user}, cost{llmRequests: 1}) == nil {
			through[user], through["all"] = append(through[user], now), append(through["all"], now)
		}
	}
	for who, times := range through {
		limit := 7
		if who == "all" {
			limit = 11
		}
		for i := range times {
			if i >= limit && times[i].Sub(times[i-limit]) < window {
				t.Fatalf("%s: more than %d within %v, the last at %v", who, limit, window, times[i].Sub(begin))
			}
		}
	}
	if len(through["all"]) < 1000 {
		t.Errorf("only %d were let through", len(through["all"]))
	}
	if len(l.spent) > 4 {
		t.Errorf("%d spenders are remembered", len(l.spent))
	}
}
