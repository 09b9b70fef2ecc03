package table

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
	"assetferry/internal/tabular"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// isSick reports whether an error says nothing of the object that was asked for.
func isSick(err error) bool {
	f, ok := errors.AsType[*remote.Failure](err)
	return !ok || f.Status == 0 || f.Kind.Repeatable() || f.Status == http.StatusUnauthorized || errors.Is(err, errPage)
}

// broken is an error on the way to a server.
func broken(a *address, err error) error {
	f := remote.Unreached(err, retry.Permanent) // other servers may be well
	f.Host = a.Hostname()
	return f
}

// refused is an answer that is no success.
func refused(a *address, answer *http.Response) error {
	f := &remote.Failure{Host: a.Hostname(), Status: answer.StatusCode, Kind: retry.Permanent}
	f.Err = fmt.Errorf("%d %s", f.Status, http.StatusText(f.Status))
	switch {
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden:
		f.Is = fs.ErrPermission
	case f.Status == http.StatusNotFound, f.Status == http.StatusGone:
		f.Is = fs.ErrNotExist
	case f.Status == http.StatusPreconditionFailed, f.Status == http.StatusRequestedRangeNotSatisfiable:
		f.Is = sources.ErrChanged
		if answer.Header.Get("Content-Range") == "bytes */0" {
			f.Is = errEmpty
		}
	case f.Status == http.StatusTooManyRequests, f.Status == http.StatusServiceUnavailable:
		f.Kind, f.Wait = retry.Throttled, retry.Asked(answer.Header)
	case f.Status == http.StatusNotImplemented, f.Status == http.StatusHTTPVersionNotSupported:
	case f.Status == http.StatusRequestTimeout, f.Status == http.StatusTooEarly, f.Status >= 500:
		f.Kind = retry.Transient
	}
	return f
}

// odd is an answer that makes no sense.
func odd(a *address, format string, args ...any) error {
	return &remote.Failure{Host: a.Hostname(), Status: http.StatusOK, Err: fmt.Errorf(format, args...), Kind: retry.Permanent}
}

// errPage says that a server sends people to where they log in.
var errPage = errors.New("the server answers with a web page")

// errEmpty says that a part was asked for of what has no bytes, and was listed to have some.
var errEmpty = fmt.Errorf("%w: it is empty", sources.ErrChanged)

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
	f, ok := errors.AsType[*remote.Failure](e.err)
	return ok && f.Status == http.StatusUnauthorized
}

// told strikes out of an error what opens the source.
func (s *Source) told(err error) error {
	text := s.web.Redact(err.Error())
	f, ok := errors.AsType[*remote.Failure](err)
	if text == err.Error() || !ok {
		return err
	}
	without := *f
	without.Err = errors.New(s.web.Redact(f.Err.Error()))
	return &without
}

// fail makes an error about one of the objects.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := s.hint(err)
	if _, ok := errors.AsType[*remote.Failure](err); ok {
		err = s.told(err)
	}
	return &sources.Error{Op: op, Source: s.Identity(), Key: key, Err: cause(err), Hint: hint}
}

// failList makes an error about the source. Mistakes say it all themselves.
func (s *Source) failList(ctx context.Context, err error) error {
	_, mistakes := errors.AsType[*tabular.Mistakes](err)
	_, form := errors.AsType[*tabular.FormatError](err)
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
	changed, written := errors.AsType[*tabular.ChangedError](err)
	f, failed := errors.AsType[*remote.Failure](err)
	switch {
	case written:
		return changed.Hint()
	case private && !network.Never:
		return "if the assets are in a network of yours, allow that with --allow-private-networks"
	case private:
		return "correct the address in the table"
	case authority:
		return "if the certificate is from a private authority, name that with --ca-file"
	case errors.Is(err, remote.ErrPlain):
		return "put https:// into the table, or give --allow-http if the network in between is trusted"
	case errors.Is(err, sources.ErrChanged):
		return "list the source again"
	case failed && (errors.Is(err, fs.ErrPermission) || errors.Is(err, errPage)):
		return "give what opens it in ASSETFERRY_SOURCE_HEADERS, such as Authorization: Bearer …; addresses that are signed may have expired: export the table again"
	case errors.Is(err, remote.ErrDocument):
		return "open its address in a browser: such an answer usually says what is wrong"
	case failed && f.Status == 0:
		return "check the address, the network and the proxy"
	case failed:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "check the path; paths in the table begin at its folder, or at --table-root"
	}
	return ""
}
