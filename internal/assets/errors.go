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
	// ErrUnconfirmed reports that a creating request may have been executed, although there is
	// no usable response. Check before repeating it.
	ErrUnconfirmed = errors.New("unconfirmed: the request may have been executed")
	// ErrSize reports an upload whose content does not have the announced size.
	ErrSize = outbound.ErrSize
	// ErrChanged reports that the content of an asset was replaced during a download.
	ErrChanged = errors.New("the content changed during the download")
)

// minReportedSkew is the minimum skew for messages: smaller ones do not affect tokens.
const minReportedSkew = 30 * time.Second

// An Error describes a failed request. It contains no secrets.
type Error struct {
	Op      string // "upload", "list assets", ...
	Subject string // object of the request; may be ""
	Method  string
	Route   string // pattern, such as "/assets/{id}"

	Status  int    // 0 without a response
	Message string // of the service, on one line
	TraceID string // for the support of the vendor
	Data    map[string]any
	Err     error // failure of the request or response; nil for an error response

	RetryAfter  time.Duration // 0 if unknown
	Skew        time.Duration // server clock minus local clock, if known
	Unconfirmed bool          // see ErrUnconfirmed
	Foreign     bool          // the response does not have the form of the service

	class    retry.Class
	auth     bool   // there was no token
	where    string // origin of the URL
	resend   bool   // certainly not executed, and worth another attempt
	redactor *redact.Redactor
}

func (c *Client) newError(r *request) *Error {
	skew, _ := c.Skew()
	return &Error{Op: r.op, Subject: r.subject, Method: r.method, Route: r.route, Skew: skew, where: outbound.Origin(c.base), redactor: c.redactor}
}

// Error returns one line: the operation, its object and the failure. Parts may come from a
// response, and secrets may span several parts.
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
	if e.Status == http.StatusUnauthorized && e.Skew.Abs() > minReportedSkew {
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

// Is maps 404 to fs.ErrNotExist, and unconfirmed errors to ErrUnconfirmed.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Status == http.StatusNotFound
	case ErrUnconfirmed:
		return e.Unconfirmed
	}
	return false
}

// Class reports whether another attempt may succeed. With ErrUnconfirmed, check first.
func (e *Error) Class() retry.Class { return e.class }

// Delay returns RetryAfter, for package retry.
func (e *Error) Delay() time.Duration { return e.RetryAfter }

// IsAuth reports whether the credentials are the cause: there is no token, or the service does
// not accept it (401) or its permissions (403).
func (e *Error) IsAuth() bool {
	return e.auth || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// SizeLimit returns the file size limit of the plan in bytes, if an upload exceeded it.
func (e *Error) SizeLimit() (int64, bool) {
	f, ok := e.number("sizeLimit")
	return int64(f), ok
}

// MegapixelsLimit returns the image size limit of the plan, if an upload exceeded it.
func (e *Error) MegapixelsLimit() (float64, bool) { return e.number("megapixelsLimit") }

// QuotaLimit returns the storage limit of the plan, if an upload exceeded it. The unit is not
// documented.
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

// classOf returns the class of a response. Undocumented statuses (413, 429, 503) have their
// meaning in HTTP.
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

// A BodyError reports that the content to upload could not be read. The cause is the source,
// not the service.
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

// RefusesContent reports whether the service refused a name or a content, and would again.
func (e *Error) RefusesContent() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
