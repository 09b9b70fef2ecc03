package assets

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// sendError returns the error of a request without an answer.
func (c *Client) sendError(ctx context.Context, r *request, s *sending, err error) error {
	complete := s.finish()
	e := c.newError(r)
	e.Err = transportError(ctx, s, err)
	e.class = transportClass(e.Err)
	e.Unconfirmed = r.creates && complete
	e.resend = s.untouched() && e.class.Repeatable()
	return e
}

// refused returns the error of a request to a refused URL.
func (c *Client) refused(r *request, to *url.URL, err error) error {
	e := c.newError(r)
	e.Err, e.class, e.where = err, retry.Permanent, outbound.Origin(to)
	return e
}

// tokenError returns the error of a request that was not sent because there is no token.
func (c *Client) tokenError(ctx context.Context, r *request, err error) error {
	e := c.newError(r)
	if ctx.Err() != nil {
		e.Err, e.class = outbound.ContextError(ctx), retry.Transient
		return e
	}
	e.Err, e.class, e.auth = err, retry.Fatal, true
	return e
}

// transportError returns the most specific error: that of the content, the context or the network.
func transportError(ctx context.Context, s *sending, err error) error {
	if isBodyError(err) {
		return err
	}
	if cause := s.bodyError(); cause != nil {
		return &BodyError{Op: "read", Err: cause}
	}
	if ctx.Err() != nil {
		return outbound.ContextError(ctx)
	}
	if refused := refusal(err); refused != nil {
		return refused
	}
	return outbound.WithoutURL(err)
}

func transportClass(err error) retry.Class {
	if errors.Is(err, ErrReadOnly) || outbound.IsTrustError(err) {
		return retry.Fatal
	}
	if errors.Is(err, ErrRefused) || errors.Is(err, outbound.ErrRedirects) {
		return retry.Permanent
	}
	if body, ok := errors.AsType[*BodyError](err); ok {
		class, _ := retry.Classify(body.Err)
		return class
	}
	return retry.Transient
}

// Hint returns the next step for a person; empty if the error text suffices.
func (e *Error) Hint() string {
	if e.Err != nil {
		return e.transportHint()
	}
	switch {
	case e.Status == http.StatusUnauthorized && e.Skew.Abs() > minReportedSkew:
		return "set the clock, or use --compensate-clock"
	case e.Status == http.StatusUnauthorized:
		return "check the environment ID, the access key, the workspace and --service"
	case e.Status == http.StatusPaymentRequired:
		return "a limit of the plan is reached: check the limits in the service"
	case e.Status == http.StatusForbidden:
		return "check the role in the token, the permissions in the service, and that the plan includes the API"
	case e.Status >= 300 && e.Status < 400:
		return "check the URL of the service: " + e.where + " responds with a redirect"
	}
	return ""
}

func (e *Error) transportHint() string {
	if e.auth {
		return "check the credentials"
	}
	if errors.Is(e.Err, ErrRefused) {
		return refusalHint(e.Err)
	}
	if _, large := errors.AsType[*outbound.TooLargeError](e.Err); large {
		return "check that " + e.where + " is the service: its response is too long"
	}
	return outbound.Hint(e.Err, e.where)
}

// serverTime returns the time of an answer by the clock of the server.
func serverTime(resp *http.Response, now time.Time) time.Time {
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return date
	}
	return now
}
