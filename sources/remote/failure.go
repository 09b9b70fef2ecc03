package remote

import (
	"errors"
	"net/url"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// A Failure is an error of a server, or on the way to it, with what it means for the next
// step. What answers mean each source says itself, because servers do not agree.
type Failure struct {
	Host   string // where a source has several: it stands before the text
	Status int    // of the answer; 0 if there is none
	Code   string // that the server gives the error besides; may be empty
	Err    error
	Is     error // what callers ask for
	Kind   retry.Class
	Auth   bool          // about what opens the source, or what that allows
	Wait   time.Duration // that the server asks for, 0 if it does not
}

func (f *Failure) Error() string {
	if f.Host == "" {
		return f.Err.Error()
	}
	return f.Host + ": " + f.Err.Error()
}

// Unwrap returns the error, and what callers ask for beside it.
func (f *Failure) Unwrap() []error {
	if f.Is == nil {
		return []error{f.Err}
	}
	return []error{f.Err, f.Is}
}

// Class implements retry.Classified.
func (f *Failure) Class() retry.Class { return f.Kind }

// Delay is how long the server asks to wait, 0 if it does not.
func (f *Failure) Delay() time.Duration { return f.Wait }

// IsAuth implements what sources.IsAuth asks for.
func (f *Failure) IsAuth() bool { return f.Auth }

// Unreached is an error on the way to a server, without the address, which may open
// something. Those that the network rules or TLS refuse another try changes nothing about:
// they get the class refused, the others are transient.
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
