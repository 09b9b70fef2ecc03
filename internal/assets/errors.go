package assets

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
)

var (
	// ErrUnconfirmed says that a request that creates something may have been
	// carried out, although there is no usable answer. It must not be sent
	// again before somebody has looked.
	ErrUnconfirmed = errors.New("unconfirmed: the request may have been executed")
	// ErrSize says that the content of an upload is not of the announced size.
	ErrSize = outbound.ErrSize
	// ErrChanged says that the content of an asset was replaced while it was read.
	ErrChanged = errors.New("the content changed during the download")
)

// worthTelling is the skew from which we mention it: smaller ones harm no token.
const worthTelling = 30 * time.Second

// An Error tells what went wrong with a request. It holds no secrets.
type Error struct {
	Op      string // "upload", "list assets", ...
	Subject string // what it is about; may be empty
	Method  string
	Route   string // pattern, such as "/assets/{id}"

	Status  int    // of the answer; 0 if there is none
	Message string // what the service said, in one line
	TraceID string // what the vendor's support wants to know
	Data    map[string]any
	Err     error // what happened to the request or its answer; nil if the service just said no

	RetryAfter  time.Duration // 0 if the service did not say
	Skew        time.Duration // the server's clock minus ours, as far as known
	Unconfirmed bool          // see ErrUnconfirmed
	Foreign     bool          // the answer is in no form that the service gives it

	class    retry.Class
	auth     bool   // there was no token to send
	where    string // origin of the address
	resend   bool   // certainly not carried out, and worth another try at once
	redactor *redact.Redactor
}

func (c *Client) newError(r *request) *Error {
	skew, _ := c.Skew()
	return &Error{Op: r.op, Subject: r.subject, Method: r.method, Route: r.route, Skew: skew, where: outbound.Origin(c.base), redactor: c.redactor}
}

// Error is one line: what we did, to what, what came of it. Anything in it may be from an answer,
// and what is no secret in its parts may be one where they come together.
func (e *Error) Error() string { return e.redactor.Text(e.line()) }

func (e *Error) line() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Subject != "" {
		b.WriteString(" " + e.Subject)
	}
	if e.Status != 0 && e.Err == nil {
		fmt.Fprintf(&b, ": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.TraceID != "" {
		b.WriteString(" (trace " + e.TraceID + ")")
	}
	if e.Unconfirmed {
		b.WriteString("; " + ErrUnconfirmed.Error())
	}
	if e.Status == http.StatusUnauthorized && e.Skew.Abs() > worthTelling {
		b.WriteString("; " + skewText(e.Skew) + ": set the clock, or use --compensate-clock")
	}
	return b.String()
}

func skewText(skew time.Duration) string {
	direction := "behind"
	if skew < 0 {
		direction = "ahead of"
	}
	return fmt.Sprintf("the local clock is %v %s the server clock", skew.Abs(), direction)
}

func (e *Error) Unwrap() error { return e.Err }

// Is maps 404 to fs.ErrNotExist, and in doubt to ErrUnconfirmed.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Status == http.StatusNotFound
	case ErrUnconfirmed:
		return e.Unconfirmed
	}
	return false
}

// Class says whether another try could help. Whoever sees ErrUnconfirmed settles
// that first.
func (e *Error) Class() retry.Class { return e.class }

// Delay is RetryAfter, for package retry.
func (e *Error) Delay() time.Duration { return e.RetryAfter }

// IsAuth reports whether the credentials are the trouble: there is no token, or
// the service does not accept ours (401), or does not allow its holder to do
// this (403).
func (e *Error) IsAuth() bool {
	return e.auth || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// SizeLimit is the largest file in bytes that the plan allows, if an upload was
// refused for that.
func (e *Error) SizeLimit() (int64, bool) {
	f, ok := e.number("sizeLimit")
	return int64(f), ok
}

// MegapixelsLimit is the largest image that the plan allows, if an upload was
// refused for that.
func (e *Error) MegapixelsLimit() (float64, bool) { return e.number("megapixelsLimit") }

// QuotaLimit is the storage that the plan allows, if an upload was refused
// because it is used up. The unit is not documented.
func (e *Error) QuotaLimit() (float64, bool) { return e.number("limit") }

func (e *Error) number(key string) (float64, bool) {
	switch v := e.Data[key].(type) {
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

// IsAuth reports whether err is an [Error] about credentials.
func IsAuth(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.IsAuth()
}

func isBadRequest(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusBadRequest
}

// classOf says what an answer means. What is not documented (413, 429, 503) is
// taken by its meaning in HTTP.
func classOf(e *Error) retry.Class {
	if _, quota := e.QuotaLimit(); quota && e.Status < 500 {
		return retry.Fatal
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return retry.Throttled
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return retry.Fatal
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return retry.Transient
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return retry.Permanent
	}
	if e.Status >= 500 {
		return retry.Transient
	}
	return retry.Permanent
}

// A BodyError says that what was to be uploaded could not be read. The trouble is
// at the source, not with the service.
type BodyError struct {
	Op  string // "open", "read"
	Err error
}

func (e *BodyError) Error() string { return e.Op + " content: " + e.Err.Error() }
func (e *BodyError) Unwrap() error { return e.Err }

func isBodyError(err error) bool {
	_, ok := errors.AsType[*BodyError](err)
	return ok
}
