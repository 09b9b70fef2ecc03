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

// isServerError reports whether an error concerns the server and not the requested object.
func isServerError(err error) bool {
	f, ok := errors.AsType[*remote.Failure](err)
	return !ok || f.Status == 0 || f.Kind.Repeatable() || f.Status == http.StatusUnauthorized || errors.Is(err, errPage)
}

// broken returns the failure of a network error.
func broken(a *contentURL, err error) error {
	f := remote.Unreached(err, retry.Permanent) // other servers may work
	f.Host = a.Hostname()
	return f
}

// refused returns the failure of an unsuccessful response.
func refused(a *contentURL, answer *http.Response) error {
	f := &remote.Failure{Host: a.Hostname(), Status: answer.StatusCode, Kind: retry.Permanent}
	f.Err = fmt.Errorf("%d %s", f.Status, http.StatusText(f.Status))
	switch {
	case f.Status == http.StatusPreconditionFailed, f.Status == http.StatusRequestedRangeNotSatisfiable:
		f.Is = sources.ErrChanged
		if answer.Header.Get("Content-Range") == "bytes */0" {
			f.Is = errEmpty
		}
	case f.Status == http.StatusNotImplemented, f.Status == http.StatusHTTPVersionNotSupported:
	case f.Status == http.StatusTooEarly:
		f.Kind = retry.Transient
	default:
		f.Classify(answer.Header)
	}
	return f
}

// odd returns the failure of an invalid response.
func odd(a *contentURL, format string, args ...any) error {
	return &remote.Failure{Host: a.Hostname(), Status: http.StatusOK, Err: fmt.Errorf(format, args...), Kind: retry.Permanent}
}

// errPage means that a server returned a web page, such as a login page.
var errPage = errors.New("the server returned a web page")

// errEmpty means that an object is empty, but was listed with a size.
var errEmpty = fmt.Errorf("%w: it is empty", sources.ErrChanged)

// A unavailableError means that a listing ended because servers did not respond.
type unavailableError struct {
	count int
	err   error
}

func (e *unavailableError) Error() string {
	return fmt.Sprintf("%d requests in a row failed: %v", e.count, e.err)
}

func (e *unavailableError) Unwrap() error { return e.err }

// IsAuth reports whether the servers require authentication.
func (e *unavailableError) IsAuth() bool {
	f, ok := errors.AsType[*remote.Failure](e.err)
	return ok && f.Status == http.StatusUnauthorized
}

// redacted removes credentials from an error.
func (s *Source) redacted(err error) error {
	text := s.web.Redact(err.Error())
	f, ok := errors.AsType[*remote.Failure](err)
	if text == err.Error() || !ok {
		return err
	}
	without := *f
	without.Redact(s.web.Redact)
	return &without
}

// fail returns an error of the source or of one of its objects.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := s.hint(err)
	if _, ok := errors.AsType[*remote.Failure](err); ok {
		err = s.redacted(err)
	}
	return &sources.Error{Op: op, Source: s.Identity(), Key: key, Err: sources.Cause(err), Hint: hint}
}

// failList returns an error of a listing. Mistakes in the table stay unchanged.
func (s *Source) failList(ctx context.Context, err error) error {
	_, mistakes := errors.AsType[*tabular.Mistakes](err)
	_, form := errors.AsType[*tabular.FormatError](err)
	if mistakes || form {
		return err
	}
	return s.fail(ctx, "list", "", err)
}

// hint returns the next step for the user, or "" if the error is enough.
func (s *Source) hint(err error) string {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	network, private := errors.AsType[*outbound.NetworkError](err)
	changed, written := errors.AsType[*tabular.ChangedError](err)
	f, failed := errors.AsType[*remote.Failure](err)
	switch {
	case written:
		return changed.Hint()
	case private && !network.Never:
		return "if the assets are in your own network, add --allow-private-networks"
	case private:
		return "correct the URL in the table"
	case authority:
		return "if a private authority signed the certificate, add --ca-file FILE"
	case errors.Is(err, remote.ErrPlain):
		return "use https:// in the table, or add --allow-http if you trust the network"
	case errors.Is(err, sources.ErrChanged):
		return "run the same command again"
	case failed && (errors.Is(err, fs.ErrPermission) || errors.Is(err, errPage)):
		return "set ASSETFERRY_SOURCE_HEADERS, for example to Authorization: Bearer …; if signed URLs have expired, export the table again"
	case errors.Is(err, remote.ErrDocument):
		return "open the URL in a browser: the response usually contains the reason"
	case failed && f.Status == 0:
		return "check the URL, the network and the proxy"
	case failed:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "check the path: paths are relative to the folder of the table, or to --table-root"
	}
	return ""
}
