package assets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"assetferry/internal/outbound"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
)

const (
	maxFault = 64 << 10 // of the body of an error

	statusKey = "statuscode" // in small letters; is in every error of the service, and in no other answer
)

// receive takes in the answer to a request and judges it.
func (c *Client) receive(ctx context.Context, r *request, s *sending, resp *http.Response) error {
	defer outbound.Drain(resp.Body)
	c.observe(resp, s)
	complete := s.finish()
	if complete || r.body == nil { // or the answer came while the body was on its way
		s.thought = s.now().Sub(s.sent())
	}
	s.dog.Alive() // all of the answer has to come within the stall timeout
	err := c.judge(r, resp)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	// Only a 4xx says for certain that nothing was made; but 408 is said by somebody
	// on the way who gave up, and not by the service if it has got everything.
	definite := resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusRequestTimeout
	e.Unconfirmed = r.creates && complete && !definite
	e.resend = resp.StatusCode == http.StatusTooManyRequests
	if e.Err != nil && ctx.Err() != nil {
		e.Err = outbound.ContextError(ctx)
	}
	return e
}

// judge reads the body of an answer and returns what is wrong with it.
func (c *Client) judge(r *request, resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault)) // half of an error is one, too
		return c.fault(r, resp, parseFault(body))
	}
	if list, ok := r.into.(streamed); ok {
		return c.readList(r, resp, list)
	}
	var content io.Reader = resp.Body
	if _, headOnly := r.into.(interface{ head(http.Header) }); !headOnly {
		content = c.withoutEcho(content)
	}
	body, err := outbound.NewMeter(content, outbound.Untyped).ReadAll()
	if err != nil {
		return c.unreadable(r, resp, err)
	}
	if bytes.Contains(bytes.ToLower(body), []byte(statusKey)) { // most answers need not be read twice
		if f := parseFault(body); f.status >= 400 {
			return c.fault(r, resp, f) // clients of the service expect errors that come as 200
		}
	}
	if a, ok := r.into.(interface{ head(http.Header) }); ok {
		a.head(resp.Header)
	}
	if err := decode(resp.StatusCode, body, r.into); err != nil {
		e := c.unreadable(r, resp, err)
		e.Foreign = true
		return e
	}
	return nil
}

// A streamed answer is read item by item.
type streamed interface {
	answer
	weight() outbound.Weight
	stream(*outbound.Meter) error
	asFault() fault
}

func (c *Client) readList(r *request, resp *http.Response, list streamed) error {
	meter := outbound.NewMeter(c.withoutEcho(resp.Body), list.weight())
	err := list.stream(meter)
	switch f := list.asFault(); {
	case meter.Err() != nil:
		return c.unreadable(r, resp, meter.Err())
	case f.status >= 400:
		return c.fault(r, resp, f)
	case err == nil:
		err = list.check()
	}
	if err != nil {
		e := c.unreadable(r, resp, err)
		e.Foreign = true
		return e
	}
	return nil
}

// decode reads a successful answer. Some answers mean different things with
// different statuses and read themselves.
func decode(status int, body []byte, into answer) error {
	if a, ok := into.(interface{ read(int, []byte) error }); ok {
		return a.read(status, body)
	}
	read := func(body []byte) error { return json.Unmarshal(body, into) }
	if u, ok := into.(json.Unmarshaler); ok {
		read = u.UnmarshalJSON // which checks what it reads; json.Unmarshal would do so twice before
	}
	if err := read(body); err != nil {
		return err
	}
	return into.check()
}

// unreadable is a successful answer that is not what it should be.
func (c *Client) unreadable(r *request, resp *http.Response, cause error) *Error {
	e := c.newError(r)
	e.Status = resp.StatusCode
	e.Err = fmt.Errorf("the answer is not readable: %w", cause)
	e.class = retry.Transient
	if _, large := errors.AsType[*outbound.TooLargeError](cause); large {
		e.class = retry.Permanent // the next one would be as large
	}
	if errors.Is(cause, errEcho) {
		e.class = retry.Permanent // it is no accident
	}
	return e
}

// fault is an answer that says no.
func (c *Client) fault(r *request, resp *http.Response, f fault) *Error {
	e := c.newError(r)
	e.Status = resp.StatusCode
	if resp.StatusCode < 300 {
		e.Status = f.status
	}
	e.Message = outbound.Printable(c.redactor.Text(f.message))
	e.TraceID = outbound.Printable(c.redactor.Text(f.traceID))
	if c.redactor.Holds(e.Message + e.TraceID) { // a part in each
		e.TraceID = redact.Mark
	}
	if !c.redactor.Holds(f.text) {
		e.Data = f.data
	}
	e.Foreign = f.foreign
	e.RetryAfter = retry.ParseRetryAfter(resp.Header.Get("Retry-After"), serverTime(resp, c.now()))
	e.class = classOf(e)
	return e
}

// A fault is the body of an error.
type fault struct {
	status  int
	message string
	traceID string
	data    map[string]any
	text    string // of the data
	foreign bool   // it is none of the service
}

// parseFault reads the four keys of an error as far as they are there. A body
// that is something else is its own message.
func parseFault(body []byte) fault {
	var keys struct {
		StatusCode json.RawMessage `json:"statusCode"`
		Message    json.RawMessage `json:"message"`
		TraceID    json.RawMessage `json:"traceId"`
		Data       json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &keys) != nil {
		return fault{message: outbound.Plain(body), foreign: len(body) > 0}
	}
	f := fault{foreign: keys.StatusCode == nil || keys.Message == nil}
	// Each key on its own: one of an unexpected type must not hide the others.
	_ = json.Unmarshal(keys.StatusCode, &f.status)
	_ = json.Unmarshal(keys.TraceID, &f.traceID)
	_ = json.Unmarshal(keys.Data, &f.data)
	f.text = string(keys.Data)
	if json.Unmarshal(keys.Message, &f.message) != nil {
		f.message = string(keys.Message)
	}
	return f
}
