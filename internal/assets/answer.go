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
	maxFault = 64 << 10 // of an error body

	statusKey = "statuscode" // lower case; in every error of the service, and in no other response
)

// receive reads and checks the response to a request.
func (c *Client) receive(ctx context.Context, r *request, s *sending, resp *http.Response) error {
	defer outbound.Drain(resp.Body)
	c.observe(resp, s)
	complete := s.finish()
	if complete || r.body == nil { // or the response arrived during the upload
		s.thought = s.now().Sub(s.sent())
	}
	s.dog.Alive() // the complete response has to arrive within the stall timeout
	err := c.judge(r, resp)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	// Only a 4xx means for certain that nothing was created. 408 may come from a proxy that
	// gave up, but not from a service that has received everything.
	definite := resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusRequestTimeout
	e.Unconfirmed = r.creates && complete && !definite
	e.resend = resp.StatusCode == http.StatusTooManyRequests
	if e.Err != nil && ctx.Err() != nil {
		e.Err = outbound.ContextError(ctx)
	}
	return e
}

// judge reads the body of a response and returns its error.
func (c *Client) judge(r *request, resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault)) // a partial error is still useful
		return c.fault(r, resp, parseFault(body))
	}
	if list, ok := r.into.(streamed); ok {
		return c.readList(r, resp, list)
	}
	var content io.Reader = resp.Body
	if _, headOnly := r.into.(interface{ head(http.Header) }); !headOnly {
		content = c.withoutEcho(resp)
	}
	body, err := outbound.NewMeter(content, outbound.Untyped).ReadAll()
	if err != nil {
		return c.unreadable(r, resp, err)
	}
	if bytes.Contains(bytes.ToLower(body), []byte(statusKey)) { // most responses need not be parsed twice
		if f := parseFault(body); f.status >= 400 {
			return c.fault(r, resp, f) // the service may send errors with the status 200
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

// A streamed answer is decoded item by item.
type streamed interface {
	answer
	weight() outbound.Weight
	stream(*outbound.Meter) error
	asFault() fault
}

func (c *Client) readList(r *request, resp *http.Response, list streamed) error {
	meter := outbound.NewMeter(c.withoutEcho(resp), list.weight())
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

// decode decodes a successful response. Responses whose meaning depends on the status decode
// themselves.
func decode(status int, body []byte, into answer) error {
	if a, ok := into.(interface{ read(int, []byte) error }); ok {
		return a.read(status, body)
	}
	read := func(body []byte) error { return json.Unmarshal(body, into) }
	if u, ok := into.(json.Unmarshaler); ok {
		read = u.UnmarshalJSON // it validates itself; json.Unmarshal would validate twice
	}
	if err := read(body); err != nil {
		return err
	}
	return into.check()
}

// unreadable returns the error of a successful response with an unexpected body.
func (c *Client) unreadable(r *request, resp *http.Response, cause error) *Error {
	e := c.newError(r)
	e.Status = resp.StatusCode
	e.Err = fmt.Errorf("the response is not readable: %w", cause)
	e.class = retry.Transient
	if _, large := errors.AsType[*outbound.TooLargeError](cause); large {
		e.class = retry.Permanent // the next response would be as large
	}
	if errors.Is(cause, errEcho) {
		e.class = retry.Permanent // not accidental
	}
	return e
}

// fault returns the error of an error response.
func (c *Client) fault(r *request, resp *http.Response, f fault) *Error {
	e := c.newError(r)
	e.Status = resp.StatusCode
	if resp.StatusCode < 300 {
		e.Status = f.status
	}
	e.Message = outbound.Printable(c.redactor.Text(f.message))
	e.TraceID = outbound.Printable(c.redactor.Text(f.traceID))
	if c.redactor.Holds(e.Message + e.TraceID) { // a secret may span both
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
	foreign bool   // not from the service
}

// parseFault decodes the four keys of an error that exist. Another body becomes the message.
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
	// Each key separately: one with an unexpected type must not hide the others.
	_ = json.Unmarshal(keys.StatusCode, &f.status)
	_ = json.Unmarshal(keys.TraceID, &f.traceID)
	_ = json.Unmarshal(keys.Data, &f.data)
	f.text = string(keys.Data)
	if json.Unmarshal(keys.Message, &f.message) != nil {
		f.message = string(keys.Message)
	}
	return f
}
