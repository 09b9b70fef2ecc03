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

// maxJSON is the longest JSON body read; a guess.
const maxJSON = 8 << 20

// A call is one request on its way through the server.
type call struct {
	*standin.Exchange
	server *Server
	route  route
	args   []string                  // values of the wildcards in the route's pattern
	who    tokens.Identity           // whom the token names, if the route needs one
	known  map[string]records.Rights // what it may do, by workspace
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

// serve takes a call through latency, faults, token and handler.
func (s *Server) serve(c *call) {
	c.W.Header().Set("Date", s.now().Format(http.TimeFormat))
	rule, fired := s.faults.Next(fault.Route{Method: c.R.Method, Pattern: c.route.pattern})
	wait := s.options.Latency
	if c.route.pattern == "/assets" && c.R.Method == http.MethodPost {
		wait = max(wait, s.options.Profile.UploadLatency)
	}
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

// handle runs the handler of the route and turns its error into an answer.
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
		c.Abort() // nobody is left to answer
	}
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok {
		p = problem.Refuse(http.StatusInternalServerError, "Something broke in the sandbox: %v", err)
		s.options.Log.Error("request failed", "method", c.R.Method, "route", c.route.pattern, "error", err)
	}
	c.problem(p)
}

// admit checks the token where the route needs one.
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
		return problem.Refuse(http.StatusForbidden, "The role %q may not do this; it needs %q.", c.who.Role, c.route.role)
	}
	return nil
}

// workspace is the one that the request is about: the query's, else the default
// one of the token.
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
	return problem.Refuse(http.StatusForbidden, "The token does not give access to workspace %q.", workspace)
}

// sees reports whether the token gives access to a workspace.
func (c *call) sees(workspace string) bool { return c.server.sees(c.who, workspace) }

// page reads limit and offset. The default of 50 and the limit of 500 are the
// values that clients use; that more is refused is a guess. A profile knows better.
func (c *call) page() (limit, offset int, err error) {
	absent, largest, accepted := c.server.options.Profile.Page(c.route.pattern)
	if limit, err = c.number("limit", absent, 1, accepted); err != nil {
		return 0, 0, err
	}
	limit = min(limit, largest)
	offset, err = c.number("offset", 0, 0, 1<<40)
	return limit, offset, err
}

// number reads a whole number from the query.
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

// order reads sortBy and order and gives SQL for them.
func (c *call) order(fields ...records.SortField) (string, error) {
	q := c.R.URL.Query()
	return records.OrderBy(q.Get("sortBy"), q.Get("order"), fields)
}

// json reads the body as one JSON value, whatever its content type says: the
// official clients send text/plain.
func (c *call) json(v any) error {
	data, err := io.ReadAll(io.LimitReader(c.Body, maxJSON+1))
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if len(data) > maxJSON {
		return problem.Refuse(http.StatusBadRequest, "The body is longer than %d bytes.", maxJSON)
	}
	if !utf8.Valid(data) { // parts are kept as they came
		return problem.Refuse(http.StatusBadRequest, "The body is not valid UTF-8.")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return misread(err)
	}
	return nil
}

// problem answers with a refusal, after reading what the client still sends.
func (c *call) problem(p *problem.Problem) {
	c.Drain()
	_ = c.Reply(p.Status, p.Body())
}
