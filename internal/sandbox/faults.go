package sandbox

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// faults decide which requests go wrong.
type faults struct {
	mu    sync.Mutex
	rules []*faultRule
	now   func() time.Time
}

// A faultRule is a fault with what it has counted so far.
type faultRule struct {
	Fault
	count  int
	dice   *rand.Rand
	tokens float64 // of the bucket for limit
	filled time.Time
}

// newFaults refuses rules that no request could ever match.
func newFaults(given []Fault, known router, now func() time.Time) (*faults, error) {
	fs := &faults{now: now}
	for i, f := range given {
		if !known.has(f.method, f.route) {
			return nil, fmt.Errorf("fault %q: the sandbox has no such route; it has %s", f, strings.Join(known.patterns(), ", "))
		}
		fs.rules = append(fs.rules, &faultRule{
			Fault: f,
			dice:  rand.New(rand.NewPCG(f.seed, uint64(i))), // equal rules do not roll alike
		})
	}
	return fs, nil
}

// next counts a request in every rule that matches and gives the first that is due.
func (fs *faults) next(method, pattern string) (fault Fault, fired bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, r := range fs.rules {
		if r.matches(method, pattern) && r.due(fs.now) && !fired {
			fault, fired = r.Fault, true
		}
	}
	return fault, fired
}

func (f Fault) matches(method, pattern string) bool {
	return (f.method == "*" || f.method == method) && (f.route == "*" || samePattern(f.route, pattern))
}

// samePattern compares patterns whatever their wildcards are called.
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

// due counts a request and tells whether it goes wrong.
func (r *faultRule) due(now func() time.Time) bool {
	r.count++
	switch {
	case r.limit != 0:
		return !r.take(now())
	case r.hasRate:
		return r.dice.Float64() < r.rate
	case r.nth != 0:
		return r.count%r.nth == 0
	case r.once != 0:
		return r.count == r.once
	}
	return true
}

// take takes a token from a bucket that holds as many as one second gives, but
// at least one, and starts full.
func (r *faultRule) take(now time.Time) bool {
	size := max(1, r.limit)
	if r.filled.IsZero() {
		r.tokens = size
	} else {
		r.tokens = min(size, r.tokens+max(0, now.Sub(r.filled).Seconds())*r.limit)
	}
	r.filled = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}

// has reports whether a method and pattern of a rule can ever match.
func (rt router) has(method, pattern string) bool {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return slices.ContainsFunc(rt.routes, func(r route) bool {
		return r.handle != nil && Fault{method: method, route: pattern}.matches(r.method, r.pattern)
	})
}

func (rt router) patterns() []string {
	var all []string
	for _, r := range rt.routes {
		if r.handle != nil {
			all = append(all, r.method+" "+r.pattern)
		}
	}
	return all
}

// misbehave carries out a fault. The delay has passed already.
func (s *Server) misbehave(c *call, f Fault) {
	switch {
	case f.drop == before:
		c.abort()
	case f.drop == after:
		c.unseen(s.handle)
		c.abort()
	case f.answerStatus() == 0: // only a delay
		s.handle(c)
		return
	case f.commit == after:
		c.unseen(s.handle)
	}
	if f.hasRetry {
		c.w.Header().Set("Retry-After", f.retryAfter)
	}
	c.problem(refuse(f.answerStatus(), "The sandbox was told to fail here: %s.", f))
}

// unseen runs do and throws its answer away, unless do ends the connection.
func (c *call) unseen(do func(*call)) {
	seen := c.w
	c.w = &answer{ResponseWriter: discarded{http.Header{}}, count: func(status int) {
		if status == 0 {
			seen.lost()
		}
	}}
	defer func() { c.w = seen }()
	do(c)
}

// discarded is an answer that nobody sees.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}
