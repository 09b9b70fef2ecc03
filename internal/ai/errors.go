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

// What callers branch on, by errors.Is. A 404 is an fs.ErrNotExist, unless it is about a
// model; a conversation whose ID is taken is an fs.ErrExist.
var (
	// ErrMayBeBilled says that a call that costs credits may have been carried out, although
	// there is no usable answer. It must not be made again before somebody has looked: the
	// reply to a message may be in its conversation.
	ErrMayBeBilled = errors.New("it may have been billed")
	// ErrUnconfirmed says that something that stays may have been made, although there is no
	// usable answer.
	ErrUnconfirmed = errors.New("unconfirmed: the request may have been executed")
	// ErrCredits says that the credits are used up. Its status and code are guesses.
	ErrCredits = errors.New("credits are used up")
	// ErrModel says that there is no such model, or not any more.
	ErrModel = errors.New("no such model")
	// ErrConversationInUse says that a reply is still on its way, or was broken off. A new
	// conversation helps.
	ErrConversationInUse = errors.New("conversation is in use")
	// ErrEmpty says that an answer holds nothing.
	ErrEmpty = errors.New("the answer is empty")
)

// An Error tells what went wrong with a request. It holds no secrets.
type Error struct {
	Op      string // "send message", "list models", ...
	Subject string // what it is about; may be empty
	Method  string
	Route   string // pattern, such as "/v1/conversations/{conversationId}"

	Status      int    // of the answer; 0 if there is none
	Code        string // such as "missing-permissions"
	Message     string // what the service said, in one line
	TraceID     string // what the vendor's support wants to know
	Explanation string
	Action      string // what the service says to do
	Data        map[string]any
	Err         error // what happened to the request or its answer; nil if the service just said no

	RetryAfter  time.Duration // 0 if the service did not say, which is usual
	MayBeBilled bool          // see ErrMayBeBilled
	Unconfirmed bool          // see ErrUnconfirmed

	class  retry.Class
	auth   bool   // there was no token to send
	where  string // origin of the address
	resend bool   // certainly not carried out, and worth another try
	final  bool   // the next try would have the same outcome, if a later run may not

	redactor *redact.Redactor
}

func (c *Client) newError(r *request) *Error {
	route := c.routes[r.endpoint]
	return &Error{Op: r.op, Subject: r.subject, Method: route.Method, Route: route.Path, where: outbound.Origin(c.base), redactor: c.redactor}
}

// sendError is the error of a request without an answer.
func (c *Client) sendError(ctx context.Context, r *request, s *sending, err error) error {
	e := c.newError(r)
	if cause := s.cause.Load(); cause != nil {
		err = cause
	}
	switch {
	case isContentError(err):
		e.Err, e.class = err, retry.Permanent
		return e // what ends early is nothing to the service
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

// tokenError is the error of a request that was not made for want of a token.
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

// Is says which of the errors that callers branch on this is.
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

// isModel goes without case: this code is written unlike all others.
func (e *Error) isModel() bool {
	return strings.EqualFold(strings.ReplaceAll(e.Code, "-", "_"), "model_not_found")
}

func (e *Error) isContext() bool {
	return e.Status == http.StatusNotFound && (e.Code == "context-not-found" || e.Code == "prompt-not-found")
}

func (e *Error) isCredits() bool {
	return e.Status == http.StatusPaymentRequired || strings.Contains(strings.ToLower(e.Code), "credit")
}

// Class says whether another try could help. Whoever sees ErrMayBeBilled or ErrUnconfirmed looks
// first.
func (e *Error) Class() retry.Class { return e.class }

// Delay is RetryAfter, for package retry.
func (e *Error) Delay() time.Duration { return e.RetryAfter }

// IsAuth reports whether the credentials are the trouble: there is no token, or the service
// does not accept ours (401), or does not allow its holder to do this (403).
func (e *Error) IsAuth() bool {
	return e.auth || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// MissingPermissions are the scopes that the token lacks, if that is the trouble.
func (e *Error) MissingPermissions() []string { return e.list("missingPermissions") }

// FlaggedCategories are those under which moderation refused a prompt or an image, such as
// "violence".
func (e *Error) FlaggedCategories() []string { return e.list("flaggedCategories") }

// Limit is the limit that something is above of, in its own unit, if the service said so. The
// key is a guess.
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

// classOf says what an answer means.
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
