package sandbox

import (
	"net/http"
	"strings"
	"sync"

	"assetferry/internal/sandbox/problem"
)

// delivered counts the delivered bytes of files by environment since the start of the sandbox.
// The service counts per period, whose length is unknown.
type delivered struct {
	mu    sync.Mutex
	bytes map[string]int64
}

func newDelivered() *delivered { return &delivered{bytes: make(map[string]int64)} }

func (d *delivered) add(environment string, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes[environment] += n
}

func (d *delivered) of(environment string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bytes[environment]
}

// delivers reports whether a route delivers files.
func (r route) delivers() bool { return strings.HasPrefix(r.pattern, "/{workspaceId}/assets/") }

// bandwidthExceeded reports whether the bandwidth of an environment is used up.
func (s *Server) bandwidthExceeded(environment string) bool {
	limit := s.options.Limits.MaxBandwidthInBytes
	return limit >= 0 && s.delivered.of(environment) >= limit
}

// checkPlan refuses requests beyond the personal plan. The status and the empty data are
// guesses.
func (s *Server) checkPlan(environment string) error {
	if s.options.Limits.IsPersonal() && s.bandwidthExceeded(environment) {
		return problem.Refuse(http.StatusPaymentRequired, "The bandwidth of the plan is used up.")
	}
	return nil
}

// deliverable refuses to deliver files of a workspace that exceeds its plan.
func (s *Server) deliverable(workspace string) error {
	w, ok := s.workspaces.Get(workspace)
	if !ok {
		return noWorkspace(workspace)
	}
	if err := s.checkPlan(w.Environment); err != nil {
		return err
	}
	return s.checkStored(w.Environment)
}

// countDelivery counts the delivered bytes of a call.
func (s *Server) countDelivery(c *call) {
	if w, ok := s.workspaces.Get(c.args[0]); ok {
		s.delivered.add(w.Environment, c.W.Sent)
	}
}
