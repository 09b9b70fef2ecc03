package table

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
	"assetferry/internal/rows"
	"assetferry/internal/sourcehttp"
	"assetferry/sources"
)

// A failure is an error of a server, or on the way to it, with what it means for the next
// step. It names the host and not the address, which may open something.
type failure struct {
	host   string
	status int // of the answer; 0 if there is none
	err    error
	is     error // what callers ask for
	class  retry.Class
	delay  time.Duration
	empty  bool // the content has no bytes
}

func (f *failure) Error() string { return f.host + ": " + f.err.Error() }

func (f *failure) Unwrap() []error {
	if f.is == nil {
		return []error{f.err}
	}
	return []error{f.err, f.is}
}

// Class implements retry.Classified.
func (f *failure) Class() retry.Class { return f.class }

// Delay is how long the server asks to wait, 0 if it does not.
func (f *failure) Delay() time.Duration { return f.delay }

// isSick reports whether an error says nothing of the object that was asked for.
func isSick(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return !ok || f.status == 0 || f.class.Repeatable() || f.status == http.StatusUnauthorized || errors.Is(err, errPage)
}

// broken is an error on the way to a server.
func broken(a *address, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // it has the whole address otherwise
	}
	f := &failure{host: a.Hostname(), err: err, class: retry.Transient}
	_, refused := errors.AsType[*outbound.NetworkError](err)
	if e, ok := errors.AsType[*outbound.NetworkError](err); ok {
		f.err = e
	}
	if refused || sourcehttp.IsTrustError(err) || errors.Is(err, sourcehttp.ErrPlain) || errors.Is(err, outbound.ErrDowngrade) || errors.Is(err, outbound.ErrRedirects) {
		f.class = retry.Permanent
	}
	return f
}

// refused is an answer that is no success.
func refused(a *address, answer *http.Response) error {
	f := &failure{host: a.Hostname(), status: answer.StatusCode, class: retry.Permanent}
	f.err = fmt.Errorf("%d %s", f.status, http.StatusText(f.status))
	switch {
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden:
		f.is = fs.ErrPermission
	case f.status == http.StatusNotFound, f.status == http.StatusGone:
		f.is = fs.ErrNotExist
	case f.status == http.StatusPreconditionFailed, f.status == http.StatusRequestedRangeNotSatisfiable:
		f.is = sources.ErrChanged
		f.empty = answer.Header.Get("Content-Range") == "bytes */0"
	case f.status == http.StatusTooManyRequests, f.status == http.StatusServiceUnavailable:
		f.class, f.delay = retry.Throttled, retry.Asked(answer.Header)
	case f.status == http.StatusNotImplemented, f.status == http.StatusHTTPVersionNotSupported:
	case f.status == http.StatusRequestTimeout, f.status == http.StatusTooEarly, f.status >= 500:
		f.class = retry.Transient
	}
	return f
}

// odd is an answer that makes no sense.
func odd(a *address, format string, args ...any) error {
	return &failure{host: a.Hostname(), status: http.StatusOK, err: fmt.Errorf(format, args...), class: retry.Permanent}
}

// errPage says that a server sends people to where they log in.
var errPage = errors.New("the server answers with a web page")

// isEmpty reports whether a part was asked for of what has none.
func isEmpty(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.empty
}

// A sickError says that a listing ended because servers could not be asked.
type sickError struct {
	count int
	err   error
}

func (e *sickError) Error() string {
	return fmt.Sprintf("%d objects in a row could not be asked for: %v", e.count, e.err)
}

func (e *sickError) Unwrap() error { return e.err }

// IsAuth reports whether they want to know who asks.
func (e *sickError) IsAuth() bool {
	f, ok := errors.AsType[*failure](e.err)
	return ok && f.status == http.StatusUnauthorized
}

// told strikes out of an error what opens the source.
func (s *Source) told(err error) error {
	text := s.web.Redact(err.Error())
	f, ok := errors.AsType[*failure](err)
	if text == err.Error() || !ok {
		return err
	}
	without := *f
	without.err = errors.New(s.web.Redact(f.err.Error()))
	return &without
}

// fail makes an error about one of the objects.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := s.hint(err)
	if _, ok := errors.AsType[*failure](err); ok {
		err = s.told(err)
	}
	return &sources.Error{Op: op, Source: s.Identity(), Key: key, Err: cause(err), Hint: hint}
}

// failList makes an error about the source. Mistakes say it all themselves.
func (s *Source) failList(ctx context.Context, err error) error {
	_, mistakes := errors.AsType[*rows.Mistakes](err)
	_, form := errors.AsType[*rows.FormatError](err)
	if mistakes || form {
		return err
	}
	return s.fail(ctx, "list", "", err)
}

// cause takes off the path that sources.Error says in its own way.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// hint is the next step for a person; empty if the text of the error says it all.
func (s *Source) hint(err error) string {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	network, private := errors.AsType[*outbound.NetworkError](err)
	changed, written := errors.AsType[*rows.ChangedError](err)
	f, failed := errors.AsType[*failure](err)
	switch {
	case written:
		return changed.Hint()
	case private && !network.Never:
		return "if the assets are in a network of yours, allow that with --allow-private-networks"
	case private:
		return "correct the address in the table"
	case authority:
		return "if the certificate is from a private authority, name that with --ca-file"
	case errors.Is(err, sourcehttp.ErrPlain):
		return "put https:// into the table, or give --allow-http if the network in between is trusted"
	case errors.Is(err, sources.ErrChanged):
		return "list the source again"
	case failed && (errors.Is(err, fs.ErrPermission) || errors.Is(err, errPage)):
		return "give what opens it in ASSETFERRY_SOURCE_HEADERS, such as Authorization: Bearer …; addresses that are signed may have expired: export the table again"
	case errors.Is(err, sourcehttp.ErrDocument):
		return "open its address in a browser: such an answer usually says what is wrong"
	case failed && f.status == 0:
		return "check the address, the network and the proxy"
	case failed:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "check the path; paths in the table begin at its folder, or at --table-root"
	}
	return ""
}
