package standin

import (
	"cmp"
	"slices"
	"sync"
)

// StatsPath answers without a token, and is neither counted nor disturbed.
const StatsPath = "/_sandbox/stats"

// Stats count the answers since the start. They are safe for concurrent use.
type Stats struct {
	mu     sync.Mutex
	counts map[counted]int
}

type counted struct {
	method, route string
	status        int
}

// NewStats gives some that have counted nothing.
func NewStats() *Stats { return &Stats{counts: make(map[counted]int)} }

// Add counts an answer; status 0 is a connection that ended without one.
func (s *Stats) Add(method, route string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[counted{method, route, status}]++
}

// A Count says how many answers of a status there were to the requests for a route.
type Count struct {
	Method string `json:"method"`
	Route  string `json:"route"`
	Status int    `json:"status"` // 0: the connection ended without an answer
	Count  int    `json:"count"`
}

// Counts gives them by route, method and status.
func (s *Stats) Counts() []Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Count{}
	for k, n := range s.counts {
		all = append(all, Count{k.method, k.route, k.status, n})
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
	})
	return all
}
