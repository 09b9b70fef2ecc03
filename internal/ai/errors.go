package ai

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
)

// Errors for callers, by errors.Is. A 404 is an fs.ErrNotExist, unless it concerns a model; a
// conversation ID in use is an fs.ErrExist.
var (
	// ErrMayBeBilled reports that a billable request may have been executed, although there is
	// no usable response. Check before repeating it: the reply to a message may be in its
	// conversation.
	ErrMayBeBilled = errors.New("the request may have been billed")
	// ErrUnconfirmed reports that a request may have created an object, although there is no
	// usable response.
	ErrUnconfirmed = errors.New("unconfirmed: the request may have been executed")
	// ErrCredits reports that the credits are used up. Its status and code are guesses.
	ErrCredits = errors.New("no credits are left")
	// ErrModel reports that a model does not exist, or not any more.
	ErrModel = errors.New("no such model")
	// ErrConversationInUse reports that a reply is in progress or was interrupted. Use a new
	// conversation.
	ErrConversationInUse = errors.New("conversation is in use")
	// ErrEmpty reports an empty answer.
	ErrEmpty = errors.New("the response is empty")
)

// An Error describes a failed request. It contains no secrets.
type Error struct {
	Op      string // "send message", "list models", ...
	Subject string // object of the request; may be ""
	Method  string
	Route   string // pattern, such as "/v1/conversations/{conversationId}"

	Status      int    // 0 without a response
	Code        string // such as "missing-permissions"
	Message     string // of the service, on one line
	TraceID     string // for the support of the vendor
	Explanation string
	Action      string // recommended by the service
	Data        map[string]any
	Err         error // failure of the request or response; nil for an error response

	RetryAfter  time.Duration // 0 if unknown, which is usual
	MayBeBilled bool          // see ErrMayBeBilled
	Unconfirmed bool          // see ErrUnconfirmed

	class  retry.Class
	auth   bool   // there was no token
	where  string // origin of the URL
	resend bool   // certainly not executed, and worth another attempt
	final  bool   // the next attempt would fail in the same way

	redactor *redact.Redactor
}

func (c *Client) newError(r *request) *Error {
	route := c.routes[r.endpoint]
	return &Error{Op: r.op, Subject: r.subject, Method: route.Method, Route: route.Path, where: outbound.Origin(c.base), redactor: c.redactor}
}

// sendError returns the error of a request without a response.
func (c *Client) sendError(ctx context.Context, r *request, s *sending, err error) error {
	e := c.newError(r)
	if cause := s.cause.Load(); cause != nil {
		err = cause
	}
	switch {
	case isContentError(err):
		e.Err, e.class = err, retry.Permanent
		return e // a local end says nothing about the service
	case ctx.Err() != nil:
		e.Err, e.class = outbound.ContextError(ctx), retry.Transient
	default:
		e.Err, e.class = outbound.WithoutURL(err), retry.Transient
	}
	if outbound.IsTrustError(err) {
		e.class = retry.Fatal
	}
	begun := s.begun.Load()
	e.resend = !begun && e.class.Repeatable()
	e.MayBeBilled, e.Unconfirmed = r.billable && begun && e.class != retry.Fatal, r.creates && begun && e.class != retry.Fatal
	return e
}

// tokenError returns the error of a request without a token.
func (c *Client) tokenError(ctx context.Context, r *request, err error) error {
	e := c.newError(r)
	if ctx.Err() != nil {
		e.Err, e.class = outbound.ContextError(ctx), retry.Transient
		return e
	}
	e.Err, e.class, e.auth = err, retry.Fatal, true
	return e
}

func isContentError(err error) bool {
	_, ok := errors.AsType[*contentError](err)
	return ok
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
	for _, part := range []string{e.Code, e.Message, e.Explanation} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	if missing := e.MissingPermissions(); len(missing) > 0 {
		b.WriteString(": missing " + strings.Join(missing, ", "))
	}
	if flagged := e.FlaggedCategories(); len(flagged) > 0 {
		b.WriteString(": flagged as " + strings.Join(flagged, ", "))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.TraceID != "" {
		b.WriteString(" (trace " + e.TraceID + ")")
	}
	switch {
	case e.MayBeBilled:
		b.WriteString("; " + ErrMayBeBilled.Error())
	case e.Unconfirmed:
		b.WriteString("; " + ErrUnconfirmed.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Is matches the errors for callers.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Status == http.StatusNotFound && !e.isModel()
	case fs.ErrExist:
		return e.Status == http.StatusConflict && strings.Contains(e.Code, "exist")
	case ErrConversationInUse:
		return e.Status == http.StatusConflict && (strings.Contains(e.Code, "in-use") || strings.Contains(e.Message, "in use"))
	case ErrCredits:
		return e.isCredits()
	case ErrModel:
		return e.isModel()
	case ErrContext:
		return e.isContext()
	case ErrMayBeBilled:
		return e.MayBeBilled
	case ErrUnconfirmed:
		return e.Unconfirmed
	}
	return false
}

// isModel ignores case, because this code is spelled differently from all others.
func (e *Error) isModel() bool {
	return strings.EqualFold(strings.ReplaceAll(e.Code, "-", "_"), "model_not_found")
}

func (e *Error) isContext() bool {
	return e.Status == http.StatusNotFound && (e.Code == "context-not-found" || e.Code == "prompt-not-found")
}

func (e *Error) isCredits() bool {
	return e.Status == http.StatusPaymentRequired || strings.Contains(strings.ToLower(e.Code), "credit")
}

// Class reports whether another attempt may succeed. With ErrMayBeBilled or ErrUnconfirmed,
// check first.
func (e *Error) Class() retry.Class { return e.class }

// Delay returns RetryAfter, for package retry.
func (e *Error) Delay() time.Duration { return e.RetryAfter }

// IsAuth reports whether the credentials are the cause: there is no token, or the service does
// not accept it (401) or its permissions (403).
func (e *Error) IsAuth() bool {
	return e.auth || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// MissingPermissions returns the scopes that the token lacks.
func (e *Error) MissingPermissions() []string { return e.list("missingPermissions") }

// FlaggedCategories returns the categories of moderation for a refused prompt or image, such as
// "violence".
func (e *Error) FlaggedCategories() []string { return e.list("flaggedCategories") }

// Limit returns the exceeded limit in its own unit, if the service reports it. The key is a
// guess.
func (e *Error) Limit() (float64, bool) {
	limit, ok := e.Data["limit"].(float64)
	return limit, ok
}

func (e *Error) list(key string) (words []string) {
	values, _ := e.Data[key].([]any)
	for _, v := range values {
		if word, ok := v.(string); ok {
			words = append(words, outbound.Printable(word))
		}
	}
	return words
}

// classOf returns the class of a response.
func classOf(e *Error) retry.Class {
	switch {
	case e.isCredits():
		return retry.Fatal
	case e.Status == http.StatusTooManyRequests:
		return retry.Throttled
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return retry.Fatal
	case e.Status == http.StatusRequestTimeout, e.Status >= 500:
		return retry.Transient
	}
	return retry.Permanent
}
