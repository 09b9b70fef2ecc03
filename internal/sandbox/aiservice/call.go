package aiservice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/standin"
)

// maxJSON is the maximum length of a JSON body; a guess. Documents may contain images.
const maxJSON = 32 << 20

// A call is a request with its response.
type call struct {
	*standin.Exchange
	server *Server
	route  route
	args   []string // values of the wildcards in the pattern
	query  url.Values
	who    identity   // from the token, if the route requires one
	fault  fault.Rule // fault of the streamed response
}

func newCall(s *Server, w http.ResponseWriter, r *http.Request) *call {
	rt := route{method: r.Method, pattern: standin.Unknown, open: true, handle: (*Server).unknownRoute}
	i, args, known := s.router.Match(r.Method, r.URL)
	if known {
		rt = s.routes[i]
	}
	x := standin.NewExchange(w, r, func(status int) { s.stats.Add(r.Method, rt.pattern, status) })
	return &call{Exchange: x, server: s, route: rt, args: args, query: r.URL.Query()}
}

// serve applies latency, faults, token check and handler to a call.
func (s *Server) serve(c *call) {
	rule, fired := s.faults.Next(fault.Route{Method: c.R.Method, Pattern: c.route.pattern, Streams: c.route.streams})
	wait := s.options.Latency
	if fired && rule.Stream != fault.Slow { // its delay is between the events
		wait += rule.Delay
	}
	if !standin.Pause(c.R.Context(), wait) {
		c.Abort()
	}
	if !fired {
		s.handle(c)
		return
	}
	c.fault = rule
	c.Misbehave(rule, func() { s.handle(c) }, func(status int, reason string) {
		c.problem(refuse(status, codeOf(status), "%s", reason))
	})
}

// codeOf returns the code for a fault, like that of a real error.
func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "invalid-jwt"
	case http.StatusPaymentRequired:
		return "credits-exhausted"
	case http.StatusForbidden:
		return "missing-permissions"
	case http.StatusConflict:
		return "conversation-in-use"
	case http.StatusTooManyRequests:
		return "rate-limits-exceeded"
	}
	return strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "-")
}

// handle executes the handler of the route and converts its error to a response.
func (s *Server) handle(c *call) {
	err := s.admit(c)
	if err == nil {
		err = c.route.handle(s, c)
	}
	if err == nil {
		return
	}
	if c.Body.IsCut() {
		c.Abort() // the client has disconnected
	}
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = refuse(http.StatusInternalServerError, "internal-server-error", "The sandbox failed: %v", err)
		s.options.Log.Error("request failed", "method", c.R.Method, "route", c.route.pattern, "error", err)
	}
	if c.isAlreadyDeleted(p) {
		_ = c.Done()
		return
	}
	c.problem(p)
}

// admit checks the token and its scopes if the route requires them.
func (s *Server) admit(c *call) (err error) {
	if c.route.open {
		return nil
	}
	if c.who, err = s.tokens.verify(c.R.Header.Get("Authorization"), s.options.Now()); err != nil {
		return err
	}
	if c.route.scopes == nil {
		return nil
	}
	return c.who.need(c.route.needs(c.args))
}

// problem responds with an error, after reading the rest of the request.
func (c *call) problem(p *problem) {
	c.Drain()
	_ = c.Reply(p.status, p.body())
}

// json decodes the body as one JSON value. Unknown fields are refused, so that a misspelled name
// does not look like success: a guess.
func (c *call) json(v any) error {
	data, err := io.ReadAll(io.LimitReader(c.Body, maxJSON+1))
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if len(data) > maxJSON {
		return refuse(http.StatusRequestEntityTooLarge, "content-too-large", "The body is longer than %d bytes.", maxJSON).with("limit", maxJSON)
	}
	if !utf8.Valid(data) {
		return malformed("body", "must be valid UTF-8")
	}
	return strictly(data, v)
}

// strictly decodes a single JSON value.
func strictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.Decode(&struct{}{}) != io.EOF {
		err = errors.New("data follows the JSON value")
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return malformed(e.Field, "cannot be of the JSON type %s", e.Value)
	}
	if err == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return malformed(strings.Trim(name, `"`), "is not known here")
	}
	return malformed("body", "must be the JSON expected: %v", err)
}

func (s *Server) unknownRoute(c *call) error {
	return refuse(http.StatusNotFound, "not-found", "The sandbox has no route %s %s; for all routes see /v1/docs.", c.R.Method, c.R.URL.Path)
}
