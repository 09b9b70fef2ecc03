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

// maxJSON is the longest JSON body read; a guess. Documents may hold pictures.
const maxJSON = 32 << 20

// A call is one request on its way through the server.
type call struct {
	*standin.Exchange
	server *Server
	route  route
	args   []string // values of the wildcards in the route's pattern
	query  url.Values
	who    identity   // whom the token names, if the route needs one
	fault  fault.Rule // what is wrong with the stream of the answer
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

// serve takes a call through latency, faults, token and handler.
func (s *Server) serve(c *call) {
	rule, fired := s.faults.Next(fault.Route{Method: c.R.Method, Pattern: c.route.pattern, Streams: c.route.streams})
	wait := s.options.Latency
	if fired && rule.Stream != fault.Slow { // there it is between the events
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

// codeOf is the code of a fault, which should look like the real refusal.
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

// handle runs the handler of the route and turns its error into an answer.
func (s *Server) handle(c *call) {
	err := s.admit(c)
	if err == nil {
		err = c.route.handle(s, c)
	}
	if err == nil {
		return
	}
	if c.Body.IsCut() {
		c.Abort() // nobody is left to answer
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

// admit checks the token where the route needs one, and its scopes.
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

// problem answers with a refusal, after reading what the client still sends.
func (c *call) problem(p *problem) {
	c.Drain()
	_ = c.Reply(p.status, p.body())
}

// json reads the body as one JSON value. Fields that are not known are refused, so
// that a slip in a name does not look like success: a guess.
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

// strictly reads one JSON value and nothing else.
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
