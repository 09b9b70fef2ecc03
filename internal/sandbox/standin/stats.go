package standin

import (
	"cmp"
	"sync"

	"assetferry/internal/sorting"
)

// StatsPath is the path of the statistics. It needs no token, is not counted, and has no faults.
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

// NewStats returns empty statistics.
func NewStats() *Stats { return &Stats{counts: make(map[counted]int)} }

// Add counts an answer; status 0 is a connection that was closed without one.
func (s *Stats) Add(method, route string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[counted{method, route, status}]++
}

// A Count is the number of answers with a status for a route.
type Count struct {
	Method string `json:"method"`
	Route  string `json:"route"`
	Status int    `json:"status"` // 0: the connection was closed without an answer
	Count  int    `json:"count"`
}

// Counts returns the counts by route, method and status.
func (s *Stats) Counts() []Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Count{}
	for k, n := range s.counts {
		all = append(all, Count{k.method, k.route, k.status, n})
	}
	sorting.By(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
	})
	return all
}
