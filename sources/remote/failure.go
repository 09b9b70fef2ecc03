package remote

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// A Failure is an error of a server or of the network, with its class. Each source classifies
// responses itself, because servers differ.
type Failure struct {
	Host   string // the prefix of the text, if a source has several hosts
	Status int    // of the response; 0 if there is none
	Code   string // an error code of the server, or ""
	Err    error
	Is     error // an error for errors.Is
	Kind   retry.Class
	Auth   bool          // it concerns the credentials, or their permissions
	Wait   time.Duration // requested by the server, or 0
}

func (f *Failure) Error() string {
	if f.Host == "" {
		return f.Err.Error()
	}
	return f.Host + ": " + f.Err.Error()
}

// Unwrap returns Err and Is.
func (f *Failure) Unwrap() []error {
	if f.Is == nil {
		return []error{f.Err}
	}
	return []error{f.Err, f.Is}
}

// Class implements retry.Classified.
func (f *Failure) Class() retry.Class { return f.Kind }

// Delay returns the delay that the server requested, or 0.
func (f *Failure) Delay() time.Duration { return f.Wait }

// IsAuth implements the interface of sources.IsAuth.
func (f *Failure) IsAuth() bool { return f.Auth }

// Classify sets the class and the meaning of a failure that only the status of a response describes.
func (f *Failure) Classify(response http.Header) {
	switch {
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden:
		f.Is = fs.ErrPermission
	case f.Status == http.StatusNotFound, f.Status == http.StatusGone:
		f.Is = fs.ErrNotExist
	case f.Status == http.StatusTooManyRequests, f.Status == http.StatusServiceUnavailable:
		f.Kind, f.Wait = retry.Throttled, retry.Asked(response)
	case f.Status == http.StatusRequestTimeout, f.Status >= 500:
		f.Kind = retry.Transient
	}
}

// Redact replaces the text by that of a function, which removes secrets.
func (f *Failure) Redact(redact func(string) string) {
	if text := f.Err.Error(); redact(text) != text {
		f.Err = errors.New(redact(text))
	}
}

// Unreached returns an error of the network without the URL, which may contain a secret. Errors of
// network rules and of TLS get the class refused, because a retry does not help. Others are
// transient.
func Unreached(err error, refused retry.Class) *Failure {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	network, forbidden := errors.AsType[*outbound.NetworkError](err)
	if forbidden {
		err = network
	}
	f := &Failure{Err: err, Kind: retry.Transient}
	if forbidden || IsTrustError(err) || errors.Is(err, ErrPlain) || errors.Is(err, outbound.ErrDowngrade) || errors.Is(err, outbound.ErrRedirects) {
		f.Kind = refused
	}
	return f
}
