package ai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"assetferry/internal/outbound"
	"assetferry/internal/ratelimit"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
)

const (
	maxAnswer = 4 << 20  // of JSON
	maxFault  = 64 << 10 // of an error body
)

// ask executes a request and decodes the response into a value; nil ignores it.
func (c *Client) ask(ctx context.Context, r *request, into any) error {
	return c.do(ctx, r, func(got *reply) (bool, error) { return false, c.read(r, got, into) })
}

// read decodes a successful JSON response.
func (c *Client) read(r *request, got *reply, into any) error {
	if into == nil {
		return nil
	}
	most := cmp.Or(r.most, maxAnswer)
	body, err := outbound.NewMeter(got.Body, outbound.Untyped).Whole(most).ReadAll()
	_, large := errors.AsType[*outbound.TooLargeError](err)
	switch {
	case large:
	case err != nil && got.ctx.Err() != nil:
		return c.unreadable(r, got.Response, outbound.ContextError(got.ctx))
	case err != nil:
		return c.unreadable(r, got.Response, err) // interrupted: the next attempt may succeed
	default:
		err = json.Unmarshal(body, into)
	}
	if checked, ok := into.(interface{ check() error }); ok && err == nil {
		err = checked.check()
	}
	if err != nil {
		e := c.unreadable(r, got.Response, err)
		e.final = true // complete: the next response would be the same
		return e
	}
	return nil
}

// unreadable returns the error of a successful response with an unexpected body. The request
// was executed.
func (c *Client) unreadable(r *request, resp *http.Response, cause error) *Error {
	e := c.newError(r)
	e.Status = resp.StatusCode
	e.Err = fmt.Errorf("the response is not readable: %w", outbound.WithoutURL(cause))
	e.class = retry.Transient
	e.MayBeBilled, e.Unconfirmed = r.billable, r.creates
	return e
}

// refusal returns the error of an error response, or nil.
func (c *Client) refusal(r *request, resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	defer outbound.Drain(resp.Body)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault)) // a partial error is still useful
	f := parseFault(body)
	e := c.newError(r)
	e.Status = resp.StatusCode
	word := func(text string) string { return outbound.Printable(c.redactor.Text(text)) }
	e.Code, e.Message, e.TraceID = word(f.code), word(f.message), word(f.traceID)
	e.Explanation, e.Action = word(f.explanation), word(f.action)
	if c.redactor.Holds(e.Code + e.Message + e.Explanation + e.TraceID) { // a secret may span both
		e.Code, e.Message, e.Explanation, e.TraceID = "", redact.Mark, "", ""
	}
	if !c.redactor.Holds(f.text) {
		e.Data = f.data
	}
	e.RetryAfter = retry.Asked(resp.Header)
	e.class = classOf(e)
	e.resend = e.class == retry.Throttled
	// Only a 4xx means for certain that nothing was executed. 408 may come from a proxy.
	definite := e.Status < 500 && e.Status != http.StatusRequestTimeout
	e.MayBeBilled, e.Unconfirmed = r.billable && !definite, r.creates && !definite
	return e
}

// A fault is the body of an error.
type fault struct {
	code, message, traceID string
	explanation, action    string
	data                   map[string]any
	text                   string // of the data
}

// parseFault decodes the keys of an error that exist. Another body becomes the message.
func parseFault(body []byte) fault {
	var keys map[string]json.RawMessage
	if json.Unmarshal(body, &keys) != nil {
		return fault{message: outbound.Plain(body)}
	}
	// Each key separately: one with an unexpected type must not hide the others.
	word := func(key string) (s string) {
		_ = json.Unmarshal(keys[key], &s)
		return s
	}
	f := fault{
		code: word("code"), message: word("message"),
		traceID:     cmp.Or(word("traceId"), word("trace_id")), // the documentation has both spellings
		explanation: word("explanation"), action: word("action"),
	}
	if f.message == "" {
		f.message = string(keys["message"])
	}
	_ = json.Unmarshal(keys["data"], &f.data)
	f.text = string(keys["data"])
	return f
}

// outcome returns the result of a request for the rate limiter. Local failures say nothing
// about the service, and the time of a model says nothing about its load.
func outcome(ctx context.Context, err error) ratelimit.Outcome {
	e, failed := errors.AsType[*Error](err)
	switch {
	case failed && (e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable):
		return ratelimit.Outcome{Refused: true, RetryAfter: e.RetryAfter}
	case !failed || e.Status != 0:
		return ratelimit.Outcome{}
	case ctx.Err() != nil, isContentError(e.Err), e.class == retry.Fatal:
		return ratelimit.Outcome{Unknown: true}
	}
	return ratelimit.Outcome{Silent: true}
}
