package assets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"assetferry/internal/retry"
)

// sendError is the error of a request without an answer.
func (c *Client) sendError(ctx context.Context, r *request, s *sending, err error) error {
	complete := s.finish()
	e := c.newError(r)
	e.Err = transportError(ctx, s, err)
	e.class = transportClass(e.Err)
	e.InDoubt = r.creates && complete
	e.resend = s.untouched() && e.class.Repeatable()
	return e
}

// tokenError is the error of a request that was not made for want of a token.
func (c *Client) tokenError(ctx context.Context, r *request, err error) error {
	e := c.newError(r)
	if ctx.Err() != nil {
		e.Err, e.class = contextError(ctx), retry.Transient
		return e
	}
	e.Err, e.class, e.auth = err, retry.Fatal, true
	return e
}

// transportError picks the error that says most: that of the content, of the
// context, of the network.
func transportError(ctx context.Context, s *sending, err error) error {
	if isBodyError(err) {
		return err
	}
	if cause := s.bodyError(); cause != nil {
		return &BodyError{Op: "read", Err: cause}
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return withoutURL(err)
}

// withoutURL strips what net/http wraps around an error: it repeats the whole
// address.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// contextError is a context's error together with its cause, so that either can
// be asked for.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return err
	}
	if stalled, ok := errors.AsType[stallError](cause); ok {
		return stalled // our own doing, not the caller's
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func transportClass(err error) retry.Class {
	if errors.Is(err, ErrReadOnly) || isTrustError(err) {
		return retry.Fatal
	}
	if body, ok := errors.AsType[*BodyError](err); ok {
		class, _ := retry.Classify(body.Err)
		return class
	}
	return retry.Transient
}

// isTrustError reports whether TLS could not establish who is at the other end,
// which no repetition changes.
func isTrustError(err error) bool {
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	return bad || header
}

// Hint is the next step for a person; empty if the text of the error says it all.
func (e *Error) Hint() string {
	if e.Err != nil {
		return e.transportHint()
	}
	switch {
	case e.Status == http.StatusUnauthorized && e.Skew.Abs() > worthTelling:
		return "set the clock, or use --compensate-clock"
	case e.Status == http.StatusUnauthorized:
		return "check the environment ID, the access key and the workspace"
	case e.Status == http.StatusPaymentRequired:
		return "a limit of the plan is used up: see what the service says under its limits"
	case e.Status == http.StatusForbidden:
		return "check the role in the token, the permissions in the service, and that the plan includes the API"
	case e.Status >= 300 && e.Status < 400:
		return "check the base address: " + e.where + " answers with a redirect"
	}
	return ""
}

func (e *Error) transportHint() string {
	_, authority := errors.AsType[x509.UnknownAuthorityError](e.Err)
	_, name := errors.AsType[x509.HostnameError](e.Err)
	invalid, expired := errors.AsType[x509.CertificateInvalidError](e.Err)
	_, header := errors.AsType[tls.RecordHeaderError](e.Err)
	dns, lookup := errors.AsType[*net.DNSError](e.Err)
	op, dial := errors.AsType[*net.OpError](e.Err)
	switch {
	case e.auth:
		return "check the credentials"
	case authority:
		return "if the certificate of " + e.where + " is from a private authority, name that with --ca-file"
	case name:
		return "the certificate is not for this address: check the base address"
	case expired && invalid.Reason == x509.Expired:
		return "the certificate is not valid at this time: check our clock and the certificate"
	case header:
		return e.where + " does not speak TLS: check the scheme and port of the base address"
	case lookup && dns.IsNotFound:
		return "host not found: check the base address and the name resolution"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "nothing listens at " + e.where + ": check the base address, and whether the service runs"
	case lookup, dial && op.Op == "dial":
		return e.where + " is not reachable: check the network, the proxy and the base address"
	}
	return ""
}

// serverTime is the time of an answer by the clock that made it.
func serverTime(resp *http.Response, now time.Time) time.Time {
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return date
	}
	return now
}
