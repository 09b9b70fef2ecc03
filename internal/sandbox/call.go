package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"

	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/tokens"
)

// maxJSON limits the length of a JSON body; a guess.
const maxJSON = 8 << 20

// A call is a request with its response.
type call struct {
	*standin.Exchange
	server *Server
	route  route
	args   []string                  // values of the wildcards in the pattern
	who    tokens.Identity           // from the token, if the route requires one
	known  map[string]records.Rights // rights by workspace
}

func newCall(s *Server, w http.ResponseWriter, r *http.Request) *call {
	rt := route{method: r.Method, pattern: standin.Unknown, role: tokens.Anonymous, handle: (*Server).notImplemented}
	i, args, known := s.router.Match(r.Method, r.URL)
	if known {
		rt = s.routes[i]
	}
	x := standin.NewExchange(w, r, func(status int) { s.stats.Add(r.Method, rt.pattern, status) })
	return &call{Exchange: x, server: s, route: rt, args: args}
}

// serve applies latency, faults, token check and handler to a call.
func (s *Server) serve(c *call) {
	c.W.Header().Set("Date", s.now().Format(http.TimeFormat))
	rule, fired := s.faults.Next(fault.Route{Method: c.R.Method, Pattern: c.route.pattern})
	wait := s.delays.of(c)
	if fired {
		wait += rule.Delay
	}
	if !standin.Pause(c.R.Context(), wait) {
		c.Abort()
	}
	if fired {
		c.Misbehave(rule, func() { s.handle(c) }, func(status int, reason string) { c.problem(problem.Refuse(status, "%s", reason)) })
		return
	}
	s.handle(c)
}

// handle executes the handler of the route and converts its error to a response.
func (s *Server) handle(c *call) {
	err := s.admit(c)
	if err == nil {
		err = c.route.handle(s, c)
	}
	if c.route.delivers() {
		s.countDelivery(c)
	}
	if err == nil {
		return
	}
	if c.Body.IsCut() {
		c.Abort() // the client has disconnected
	}
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok {
		p = problem.Refuse(http.StatusInternalServerError, "The sandbox failed: %v", err)
		s.options.Log.Error("request failed", "method", c.R.Method, "route", c.route.pattern, "error", err)
	}
	c.problem(p)
}

// admit checks the token if the route requires one.
func (s *Server) admit(c *call) (err error) {
	if c.route.delivers() {
		if err := c.deliver(s.options.Profile); err != nil {
			return err
		}
		return s.deliverable(c.args[0])
	}
	if c.route.role == tokens.Anonymous {
		return nil
	}
	if c.who, err = s.tokens.Verify(s.options.Profile.Token(c.R.Header.Get("Authorization")), s.now()); err != nil {
		return err
	}
	if c.who.Role < c.route.role {
		return problem.Refuse(http.StatusForbidden, "The role %q is not sufficient; %q is required.", c.who.Role, c.route.role)
	}
	return nil
}

// workspace returns the workspace of the request: that of the query, or the default one of the
// token.
func (c *call) workspace() (string, error) {
	q := c.R.URL.Query()
	if !q.Has("workspaceId") {
		return c.who.Workspaces[0], nil
	}
	id := q.Get("workspaceId")
	if !c.sees(id) {
		return "", noAccess(id)
	}
	return id, nil
}

func noAccess(workspace string) *problem.Problem {
	return problem.Refuse(http.StatusForbidden, "The token does not permit access to the workspace %q.", workspace)
}

// sees reports whether the token permits access to a workspace.
func (c *call) sees(workspace string) bool { return c.server.sees(c.who, workspace) }

// page parses limit and offset. The default of 50 and the maximum of 500 are those of clients;
// that larger values are refused is a guess. A profile can change this.
func (c *call) page() (limit, offset int, err error) {
	absent, largest, accepted := c.server.options.Profile.Page(c.route.pattern)
	if limit, err = c.number("limit", absent, 1, accepted); err != nil {
		return 0, 0, err
	}
	limit = min(limit, largest)
	offset, err = c.number("offset", 0, 0, 1<<40)
	return limit, offset, err
}

// number parses a whole number in the query.
func (c *call) number(name string, absent, low, high int) (int, error) {
	q := c.R.URL.Query()
	if !q.Has(name) {
		return absent, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < low || n > high {
		return 0, problem.Refuse(http.StatusBadRequest, "%s must be a number from %d to %d.", name, low, high)
	}
	return n, nil
}

// order converts sortBy and order to SQL.
func (c *call) order(fields ...records.SortField) (string, error) {
	q := c.R.URL.Query()
	return records.OrderBy(q.Get("sortBy"), q.Get("order"), fields)
}

// json decodes the body as one JSON value, whatever its content type is: the official clients
// send text/plain.
func (c *call) json(v any) error {
	data, err := io.ReadAll(io.LimitReader(c.Body, maxJSON+1))
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if len(data) > maxJSON {
		return problem.Refuse(http.StatusBadRequest, "The body is longer than %d bytes.", maxJSON)
	}
	if !utf8.Valid(data) { // parts are stored unchanged
		return problem.Refuse(http.StatusBadRequest, "The body is not valid UTF-8.")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return misread(err)
	}
	return nil
}

// problem responds with an error, after reading the rest of the request.
func (c *call) problem(p *problem.Problem) {
	c.Drain()
	_ = c.Reply(p.Status, p.Body())
}
