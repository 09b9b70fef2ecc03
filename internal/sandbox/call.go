package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	// maxJSON is the longest JSON body read; a guess.
	maxJSON = 8 << 20
	// maxDrain is how much of a refused upload is read, so that the client gets
	// to read the refusal. Beyond that the connection is closed.
	maxDrain = 64 << 20
	// drainTime is the longest wait for the rest of a refused upload.
	drainTime = 10 * time.Second
)

// A call is one request on its way through the server.
type call struct {
	server *Server
	w      *answer
	r      *http.Request
	body   *body
	route  route
	args   []string          // values of the wildcards in the route's pattern
	who    identity          // whom the token names, if the route needs one
	known  map[string]rights // what it may do, by workspace
}

func newCall(s *Server, w http.ResponseWriter, r *http.Request) *call {
	rt, args := s.routes.match(r.Method, r.URL)
	c := &call{server: s, r: r, route: rt, args: args}
	c.w = &answer{ResponseWriter: w, count: func(status int) { s.stats.add(r.Method, rt.pattern, status) }}
	c.body = &body{source: r.Body, controller: http.NewResponseController(w)}
	r.Body = c.body
	return c
}

// serve takes a call through latency, faults, token and handler.
func (s *Server) serve(c *call) {
	c.w.Header().Set("Date", s.now().Format(http.TimeFormat))
	fault, fired := s.faults.next(c.r.Method, c.route.pattern)
	wait := s.options.Latency
	if c.route.pattern == "/assets" && c.r.Method == http.MethodPost {
		wait = max(wait, s.options.Profile.UploadLatency)
	}
	if fired {
		wait += fault.delay
	}
	if !pause(c.r.Context(), wait) {
		c.abort()
	}
	if fired {
		s.misbehave(c, fault)
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
	if c.body.cut() {
		c.abort() // nobody is left to answer
	}
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = refuse(http.StatusInternalServerError, "Something broke in the sandbox: %v", err)
		s.options.Log.Error("request failed", "method", c.r.Method, "route", c.route.pattern, "error", err)
	}
	c.problem(p)
}

// admit checks the token where the route needs one.
func (s *Server) admit(c *call) (err error) {
	if c.route.delivers() {
		if err := s.options.Profile.deliver(c); err != nil {
			return err
		}
		return s.deliverable(c.args[0])
	}
	if c.route.role == nobody {
		return nil
	}
	if c.who, err = s.tokens.verify(s.options.Profile.token(c.r.Header.Get("Authorization")), s.now()); err != nil {
		return err
	}
	if c.who.role < c.route.role {
		return refuse(http.StatusForbidden, "The role %q may not do this; it needs %q.", c.who.role, c.route.role)
	}
	return nil
}

// workspace is the one that the request is about: the query's, else the default
// one of the token.
func (c *call) workspace() (string, error) {
	q := c.r.URL.Query()
	if !q.Has("workspaceId") {
		return c.who.workspaces[0], nil
	}
	id := q.Get("workspaceId")
	if !c.sees(id) {
		return "", noAccess(id)
	}
	return id, nil
}

func noAccess(workspace string) *problem {
	return refuse(http.StatusForbidden, "The token does not give access to workspace %q.", workspace)
}

// sees reports whether the token gives access to a workspace.
func (c *call) sees(workspace string) bool { return c.server.sees(c.who, workspace) }

// page reads limit and offset. The default of 50 and the limit of 500 are the
// values that clients use; that more is refused is a guess. A profile knows better.
func (c *call) page() (limit, offset int, err error) {
	absent, largest, accepted := c.server.options.Profile.page(c.route.pattern)
	if limit, err = c.number("limit", absent, 1, accepted); err != nil {
		return 0, 0, err
	}
	limit = min(limit, largest)
	offset, err = c.number("offset", 0, 0, 1<<40)
	return limit, offset, err
}

// number reads a whole number from the query.
func (c *call) number(name string, absent, low, high int) (int, error) {
	q := c.r.URL.Query()
	if !q.Has(name) {
		return absent, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < low || n > high {
		return 0, refuse(http.StatusBadRequest, "%s must be a number from %d to %d.", name, low, high)
	}
	return n, nil
}

// order reads sortBy and order and gives SQL for them.
func (c *call) order(fields ...sortField) (string, error) {
	q := c.r.URL.Query()
	return orderBy(q.Get("sortBy"), q.Get("order"), fields)
}

// orderBy gives SQL for an order. Without a field it is by the first one;
// ascending is the default: a guess. Equals are ordered by creation, so that
// pages do not overlap.
func orderBy(field, order string, fields []sortField) (string, error) {
	direction, ok := map[string]string{"": "ASC", "asc": "ASC", "desc": "DESC"}[order]
	if !ok {
		return "", refuse(http.StatusBadRequest, "order must be asc or desc.")
	}
	if field == "" {
		field = fields[0].name
	}
	for _, f := range fields {
		if f.name == field {
			return f.column + " " + direction + ", seq " + direction, nil
		}
	}
	return "", refuse(http.StatusBadRequest, "Cannot sort by %q.", field)
}

// A sortField is a field by which a list can be sorted.
type sortField struct{ name, column string }

// json reads the body as one JSON value, whatever its content type says: the
// official clients send text/plain.
func (c *call) json(v any) error {
	data, err := io.ReadAll(io.LimitReader(c.body, maxJSON+1))
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if len(data) > maxJSON {
		return refuse(http.StatusBadRequest, "The body is longer than %d bytes.", maxJSON)
	}
	if !utf8.Valid(data) { // parts are kept as they came
		return refuse(http.StatusBadRequest, "The body is not valid UTF-8.")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return misread(err)
	}
	return nil
}

// reply answers with JSON.
func (c *call) reply(status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(b.Bytes()) // a client that has gone loses nothing that matters
	return nil
}

// done answers without a body.
func (c *call) done() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// problem answers with a refusal, after reading what the client still sends.
func (c *call) problem(p *problem) {
	c.drain()
	_ = c.reply(p.status, p.body())
}

// drain reads the rest of a refused body: a client that is still sending would
// otherwise see a broken connection instead of the answer. One that asked for
// leave to send simply does not get it.
func (c *call) drain() {
	if c.r.Header.Get("Expect") != "" && !c.body.touched {
		return
	}
	c.body.deadline(drainTime)
	if n, err := io.CopyN(io.Discard, c.body.source, maxDrain); n == maxDrain || err != nil && !errors.Is(err, io.EOF) {
		c.w.Header().Set("Connection", "close")
	}
}

// abort cuts the connection.
func (c *call) abort() {
	c.w.lost()
	panic(http.ErrAbortHandler)
}

// pause waits, and reports false if the client goes away meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// An answer counts itself when its status is known, so that whoever has seen an
// answer finds it in the statistics.
type answer struct {
	http.ResponseWriter
	count   func(status int)
	counted bool
	sent    int64    // bytes of the body
	without []string // headers that are left out
}

func (a *answer) WriteHeader(status int) {
	a.once(status)
	for _, name := range a.without {
		a.Header().Del(name)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	a.once(http.StatusOK)
	n, err := a.ResponseWriter.Write(p)
	a.sent += int64(n)
	return n, err
}

// lost counts an answer that never comes.
func (a *answer) lost() { a.once(0) }

func (a *answer) once(status int) {
	if !a.counted && (status == 0 || status >= 200) {
		a.counted = true
		a.count(status)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// bodyIdle is how long a body may stand still. There is no limit on the whole,
// since files of several gigabytes take their time.
const bodyIdle = 2 * time.Minute

// A body is a request's body that knows whether it was cut short.
type body struct {
	source     io.ReadCloser
	controller *http.ResponseController
	touched    bool
	extended   time.Time
	err        error
}

func (b *body) Read(p []byte) (int, error) {
	b.touched = true
	if now := time.Now(); now.Sub(b.extended) > bodyIdle/16 {
		b.extended = now
		b.deadline(bodyIdle)
	}
	n, err := b.source.Read(p)
	if err != nil {
		b.err = err
		_ = b.controller.SetReadDeadline(time.Time{}) // nothing more to wait for
	}
	return n, err
}

func (b *body) Close() error { return b.source.Close() }

// deadline limits the time until more arrives. Not every connection can.
func (b *body) deadline(d time.Duration) { _ = b.controller.SetReadDeadline(time.Now().Add(d)) }

// cut reports whether the body broke off before its end.
func (b *body) cut() bool { return b.err != nil && !errors.Is(b.err, io.EOF) }
