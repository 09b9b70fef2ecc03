package fault

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Route is a method and a pattern, such as GET and /assets/{id}. HEAD is answered wherever
// GET is.
type Route struct {
	Method, Pattern string
	Streams         bool // the response is a stream
}

// A Set decides which requests fail. It is safe for concurrent use.
type Set struct {
	mu    sync.Mutex
	rules []*counting
	now   func() time.Time
}

// A counting rule is a rule with its counters.
type counting struct {
	Rule
	count  int
	dice   *rand.Rand
	tokens float64 // of the bucket for limit
	filled time.Time
}

// NewSet refuses rules that no request can match.
func NewSet(rules []Rule, routes []Route, now func() time.Time) (*Set, error) {
	s := &Set{now: now}
	for i, r := range rules {
		if !slices.ContainsFunc(routes, r.canHit) {
			return nil, fmt.Errorf("fault %q: the sandbox has no such route%s", r, there(r, routes))
		}
		s.rules = append(s.rules, &counting{
			Rule: r,
			dice: rand.New(rand.NewPCG(r.Seed, uint64(i))), // equal rules get different random numbers
		})
	}
	return s, nil
}

// there lists the routes that a rule can use.
func there(r Rule, routes []Route) string {
	var all []string
	for _, known := range routes {
		if known.Streams || r.Stream == "" {
			all = append(all, known.Method+" "+known.Pattern)
		}
	}
	if all == nil {
		return ", and no route with a streamed response"
	}
	return "; routes: " + strings.Join(all, ", ")
}

// canHit reports whether a rule can match requests of a route.
func (r Rule) canHit(known Route) bool {
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	return r.matches(known)
}

// Next counts a request in every matching rule and returns the first one that applies.
func (s *Set) Next(request Route) (due Rule, fired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if r.matches(request) && r.due(s.now) && !fired {
			due, fired = r.Rule, true
		}
	}
	return due, fired
}

func (r Rule) matches(request Route) bool {
	return (r.Method == "*" || r.Method == request.Method) && (r.Route == "*" || samePattern(r.Route, request.Pattern)) &&
		(r.Stream == "" || request.Streams)
}

// samePattern compares patterns, ignoring the names of wildcards.
func samePattern(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if as[i] != bs[i] && !(strings.HasPrefix(as[i], "{") && strings.HasPrefix(bs[i], "{")) {
			return false
		}
	}
	return true
}

// due counts a request and reports whether the rule applies.
func (r *counting) due(now func() time.Time) bool {
	r.count++
	switch {
	case r.Limit != 0:
		return !r.take(now())
	case r.HasRate:
		return r.dice.Float64() < r.Rate
	case r.Nth != 0:
		return r.count%r.Nth == 0
	case r.Once != 0:
		return r.count == r.Once
	}
	return true
}

// take takes a token from a bucket. The bucket has room for the tokens of a second, at least
// one, and is full at the start.
func (r *counting) take(now time.Time) bool {
	size := max(1, r.Limit)
	if r.filled.IsZero() {
		r.tokens = size
	} else {
		r.tokens = min(size, r.tokens+max(0, now.Sub(r.filled).Seconds())*r.Limit)
	}
	r.filled = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}
