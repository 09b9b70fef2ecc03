package ckfinder

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/sourcehttp"
	"assetferry/sources"
)

// The numbers that connectors give their errors, as far as they matter here.
const (
	invalidCommand = 10
	invalidType    = 12
	unauthorized   = 103 // by the rules of the connector
	accessDenied   = 104 // by the file system
	unknownTrouble = 110
	folderNotFound = 116
	fileNotFound   = 117
	disabled       = 500 // for who is not logged in
)

// meanings are what numbers stand for, where a connector says no more.
func meaning(number int) string {
	switch number {
	case invalidCommand:
		return "invalid command"
	case invalidType:
		return "no such resource type"
	case unauthorized:
		return "not allowed"
	case accessDenied:
		return "access denied by the file system"
	case 109:
		return "invalid request"
	case unknownTrouble:
		return "unknown error"
	case folderNotFound:
		return "folder not found"
	case fileNotFound:
		return "file not found"
	case disabled:
		return "the connector is disabled, as it is for who is not logged in"
	}
	return ""
}

// errPage says that somebody gave a page for people where data should be.
var errPage = errors.New("the answer is a web page, as one to log in at is, and not what a connector says")

// A foreignError says that an answer lacks what the command always gives.
type foreignError struct{ lacks string }

func (e *foreignError) Error() string {
	return "the answer has no " + e.lacks + ", so it is not that of a CKFinder 3 connector"
}

// An unreadableError says that an answer is no JSON.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return "the answer cannot be read: " + e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// A failure is an error with what it means for the next step.
type failure struct {
	status int // of the answer; 0 if there is none
	number int // that the connector gives it; 0 if it gives none
	err    error
	is     error // what callers ask for
	class  retry.Class
	auth   bool
	delay  time.Duration
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() []error {
	if f.is == nil {
		return []error{f.err}
	}
	return []error{f.err, f.is}
}

// Class implements retry.Classified.
func (f *failure) Class() retry.Class { return f.class }

// Delay is how long the connector asks to wait, 0 if it does not.
func (f *failure) Delay() time.Duration { return f.delay }

// IsAuth reports whether the trouble is with the session, or with what it allows.
func (f *failure) IsAuth() bool { return f.auth }

// refused is an answer that is no success. It is told in one line.
func refused(a *http.Response, told *trouble) *failure {
	f := &failure{status: a.StatusCode, class: retry.Permanent}
	text := http.StatusText(f.status)
	if told != nil {
		f.number = told.Number
		text = meaning(f.number)
		if message := sourcehttp.OneLine(told.Message); message != "" {
			text = message
		}
	}
	switch {
	case f.number != 0:
		f.err = fmt.Errorf("error %d: %s", f.number, text)
	case told != nil:
		f.err = errors.New(text)
	case f.status >= 300 && f.status < 400:
		f.err = fmt.Errorf("%d %s to %s", f.status, text, goal(a))
	default:
		f.err = fmt.Errorf("%d %s", f.status, text)
	}
	f.judge(a)
	return f
}

// judge finds out what an answer means.
func (f *failure) judge(a *http.Response) {
	switch {
	case f.number == disabled, f.status == http.StatusUnauthorized, f.status >= 300 && f.status < 400:
		f.class, f.auth = retry.Fatal, true
	case f.number == folderNotFound, f.number == fileNotFound, f.number == invalidType:
		f.is = fs.ErrNotExist
	case f.number == unauthorized, f.number == accessDenied:
		f.is = fs.ErrPermission
	case f.number == unknownTrouble:
		f.class = retry.Transient
	case f.number != 0:
	case f.status == http.StatusForbidden:
		f.is = fs.ErrPermission
	case f.status == http.StatusNotFound, f.status == http.StatusGone:
		f.is = fs.ErrNotExist
	case f.status == http.StatusTooManyRequests, f.status == http.StatusServiceUnavailable:
		f.class, f.delay = retry.Throttled, retry.Asked(a.Header)
	case f.status == http.StatusRequestTimeout, f.status >= 500:
		f.class = retry.Transient
	}
}

// goal is where an answer sends us, without what may be a secret.
func goal(a *http.Response) string {
	u, err := a.Location()
	if err != nil {
		return "nowhere"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// unreached is an error of the network.
func unreached(err error) *failure {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	f := &failure{err: err, class: retry.Transient}
	if sourcehttp.IsTrustError(err) || errors.Is(err, sourcehttp.ErrPlain) {
		f.class = retry.Fatal
	}
	return f
}

// fail makes an error about the source or one of its objects. It holds no secrets.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := s.hint(op, err)
	if f, ok := errors.AsType[*failure](err); ok {
		if text := f.err.Error(); s.client.Redact(text) != text {
			f.err = errors.New(s.client.Redact(text))
		}
	}
	return &sources.Error{Op: op, Source: s.address.String(), Key: key, Err: err, Hint: hint}
}

const hintAddress = "check the address: it is that of the connector, such as ckfinder+https://www.example.com/ckfinder/connector"

// hint is the next step for a person; empty if the text of the error says it all.
func (s *Source) hint(op string, err error) string {
	f, failed := errors.AsType[*failure](err)
	_, foreign := errors.AsType[*foreignError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, sourcehttp.ErrPlain):
		return "use ckfinder+https://, or --allow-http if the network in between is trusted"
	case authority:
		return "if the certificate is from a private authority, name that with --ca-file"
	case errors.Is(err, sources.ErrChanged):
		return "list the source again"
	case failed && f.auth && s.opened:
		return "the session has ended, or may not see this: log in again, renew ASSETFERRY_SOURCE_HEADERS and run the same command again; if nobody has to log in there, check the address"
	case failed && f.auth:
		return "give a session along: ASSETFERRY_SOURCE_HEADERS='Cookie: NAME=VALUE', as a browser has it that is logged in; if nobody has to log in there, check the address"
	case failed && f.status == 0 && f.class == retry.Transient:
		return "check the address, the network and the proxy"
	case failed && op == "list" && s.address.kind != "" && errors.Is(err, fs.ErrNotExist) && (f.number != 0 || f.status == 0):
		return "check type and currentFolder in the address; the connector must know both"
	case foreign, failed && op == "list" && (f.status == http.StatusNotFound || f.number == invalidCommand):
		return hintAddress
	case errors.Is(err, fs.ErrPermission):
		return "give the user of the session the right to see it, in the access control of the connector"
	}
	return ""
}
