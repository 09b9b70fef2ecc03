package aiservice

import (
	"encoding/json"
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/standin"
)

func (s *Server) getHealth(c *call) error {
	uptime := s.options.Now().Sub(s.started).Seconds()
	return c.Reply(http.StatusOK, map[string]any{"serviceName": "assetferry-sandbox", "uptime": max(0, uptime)})
}

// Stats are the statistics of a stand-in. Those of requests and limits begin at its start; the
// others are stored.
type Stats struct {
	Requests       []standin.Count `json:"requests"`
	BilledRequests int             `json:"billedCalls"`
	Credits        []CreditsOf     `json:"credits"`
	Limits         []LimitStats    `json:"limits"`
	Conversations  int             `json:"conversations"` // existing conversations
}

// CreditsOf are the credits that a user has used.
type CreditsOf struct {
	Environment string  `json:"environment"`
	User        string  `json:"user"`
	Calls       int     `json:"calls"`
	Credits     float64 `json:"credits"`
}

// Stats returns the statistics, as GET /_sandbox/stats does.
func (s *Server) Stats() (Stats, error) {
	v := Stats{Requests: s.stats.Counts(), Limits: s.limits.view(), Credits: []CreditsOf{}}
	if err := s.store.do(v.readBilling); err != nil {
		return Stats{}, fmt.Errorf("read what was billed: %w", err)
	}
	return v, nil
}

// serveStats responds without a token. Faults do not apply to it, and it is not counted.
func (s *Server) serveStats(w http.ResponseWriter) {
	v, err := s.Stats()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v)
}
