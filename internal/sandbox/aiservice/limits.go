package aiservice

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Rates are limits for any 60 seconds; 0 means no limit.
type Rates struct {
	LLMRequests, WebSearches, WebScrapes int
	InputTokens                          int // weighted by model
}

// Limits are enforced separately for each organisation and each of its users.
type Limits struct{ PerOrganisation, PerUser Rates }

// SaaS returns the limits of the hosted service.
func SaaS() Limits {
	return Limits{
		PerOrganisation: Rates{LLMRequests: 1000, WebSearches: 300, WebScrapes: 100, InputTokens: 16_000_000},
		PerUser:         Rates{LLMRequests: 75, WebSearches: 30, WebScrapes: 5, InputTokens: 1_000_000},
	}
}

// The kinds of limits.
const (
	llmRequests = iota
	webSearches
	webScrapes
	inputTokens
	kinds
)

func kindNames() [kinds]string {
	return [kinds]string{"llmRequests", "webSearches", "webScrapes", "inputTokens"}
}

// A cost is the cost of a request for each kind of limit.
type cost [kinds]int

func (r Rates) each() cost {
	return cost{llmRequests: r.LLMRequests, webSearches: r.WebSearches, webScrapes: r.WebScrapes, inputTokens: r.InputTokens}
}

// window is the period of the limits.
const window = time.Minute

// A limiter enforces the limits. Refused requests do not count against them, but are in the
// statistics.
type limiter struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	spent   map[spender][]spending
	most    [2]cost // maximum in any window: of an organisation, of a user
	refused cost
}

// A spender is an organisation, or one of its users.
type spender struct {
	environment, user string
	isUser            bool
}

type spending struct {
	at       time.Time
	cost     cost
	admitted bool
}

func newLimiter(l Limits, now func() time.Time) *limiter {
	return &limiter{limits: l, now: now, spent: map[spender][]spending{}}
}

// take accepts or refuses a request. Like the service, it does not return how long to wait.
func (l *limiter) take(who identity, c cost) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	var refusal *problem
	spenders := [2]spender{{environment: who.environment}, {environment: who.environment, user: who.user, isUser: true}}
	for i, s := range spenders {
		l.expire(s, now)
		limits, name := l.limits.PerOrganisation.each(), "organisation"
		if i == 1 {
			limits, name = l.limits.PerUser.each(), "user"
		}
		for kind := range c {
			used := sum(l.spent[s], kind, true)
			if refusal == nil && c[kind] > 0 && limits[kind] > 0 && used+c[kind] > limits[kind] {
				l.refused[kind]++
				refusal = tooMany(name, kindNames()[kind], limits[kind])
			}
		}
	}
	for i, s := range spenders {
		l.spent[s] = append(l.spent[s], spending{now, c, refusal == nil})
		for kind := range c {
			l.most[i][kind] = max(l.most[i][kind], sum(l.spent[s], kind, false))
		}
	}
	if refusal == nil {
		return nil
	}
	return refusal
}

func tooMany(of, kind string, limit int) *problem {
	p := refuse(http.StatusTooManyRequests, "rate-limits-exceeded", "Rate limits exceeded: %d %s per minute and %s.", limit, kind, of)
	p.data = map[string]any{"limit": limit, "kind": kind, "of": of}
	return p
}

// expire removes requests that are older than the window.
func (l *limiter) expire(s spender, now time.Time) {
	all := l.spent[s]
	for len(all) > 0 && now.Sub(all[0].at) >= window {
		all = all[1:]
	}
	if l.spent[s] = all; len(all) == 0 {
		delete(l.spent, s)
	}
}

func sum(all []spending, kind int, admittedOnly bool) (total int) {
	for _, s := range all {
		if s.admitted || !admittedOnly {
			total += s.cost[kind]
		}
	}
	return total
}

// LimitStats is the statistics of a kind of limit.
type LimitStats struct {
	Kind         string   `json:"kind"`
	Organisation LimitUse `json:"organisation"`
	User         LimitUse `json:"user"`
	Refused      int      `json:"refused"` // requests refused because of this kind
}

// A LimitUse is a limit with the maximum use.
type LimitUse struct {
	Limit int `json:"limit"` // 0: none
	Most  int `json:"most"`  // maximum in any 60 seconds, including refused requests
}

func (l *limiter) view() (all []LimitStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	organisation, user := l.limits.PerOrganisation.each(), l.limits.PerUser.each()
	for kind, name := range kindNames() {
		all = append(all, LimitStats{
			Kind: name, Refused: l.refused[kind],
			Organisation: LimitUse{organisation[kind], l.most[0][kind]},
			User:         LimitUse{user[kind], l.most[1][kind]},
		})
	}
	return all
}

// ParseLimits parses limits per minute: for a user and, after a slash, for all users.
func ParseLimits(text string) (l Limits, err error) {
	switch text {
	case "off":
		return l, nil
	case "saas":
		return SaaS(), nil
	}
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(word, "=")
		user, all, both := strings.Cut(value, "/")
		mine, theirs := rateOf(&l.PerUser, name), rateOf(&l.PerOrganisation, name)
		if mine == nil {
			return l, fmt.Errorf("unknown limit %q; the limits are llm, search, scrape and tokens", name)
		}
		if *mine, err = parseRate(user); err == nil && both {
			*theirs, err = parseRate(all)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

func rateOf(r *Rates, name string) *int {
	switch name {
	case "llm":
		return &r.LLMRequests
	case "search":
		return &r.WebSearches
	case "scrape":
		return &r.WebScrapes
	case "tokens":
		return &r.InputTokens
	}
	return nil
}

// parseRate parses a number such as 75 or 16e6.
func parseRate(text string) (int, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1e12) || n != math.Trunc(n) {
		return 0, fmt.Errorf("%q is not a number per minute", text)
	}
	return int(n), nil
}
