package sandbox

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// statsPath answers without a token, and is neither counted nor disturbed.
const statsPath = "/_sandbox/stats"

// stats count the answers since the start.
type stats struct {
	mu     sync.Mutex
	counts map[counted]int
}

type counted struct {
	method, route string
	status        int
}

func newStats() *stats { return &stats{counts: make(map[counted]int)} }

// add counts an answer; status 0 is a connection that ended without one.
func (s *stats) add(method, route string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[counted{method, route, status}]++
}

type statsView struct {
	Requests []requestCount `json:"requests"`
}

type requestCount struct {
	Method string `json:"method"`
	Route  string `json:"route"`
	Status int    `json:"status"`
	Count  int    `json:"count"`
}

func (s *stats) view() statsView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := statsView{Requests: []requestCount{}}
	for k, n := range s.counts {
		v.Requests = append(v.Requests, requestCount{k.method, k.route, k.status, n})
	}
	slices.SortFunc(v.Requests, func(a, b requestCount) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
	})
	return v
}

func (s *Server) serveStats(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(s.stats.view())
}
