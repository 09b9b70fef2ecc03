package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
)

// WithoutURL strips what net/http wraps around an error: it repeats the whole
// address.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// ContextError is a context's error together with its cause, so that either can
// be asked for.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return err
	}
	if stalled, ok := errors.AsType[StallError](cause); ok {
		return stalled // our own doing, not the caller's
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// IsTrustError reports whether TLS could not establish who is at the other end,
// which no repetition changes.
func IsTrustError(err error) bool {
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	return bad || header
}

// Hint is what to do about an error of the network on the way to an origin; empty if the
// text of the error says it all.
func Hint(err error, origin string) string {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	invalid, expired := errors.AsType[x509.CertificateInvalidError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	dns, lookup := errors.AsType[*net.DNSError](err)
	op, dial := errors.AsType[*net.OpError](err)
	switch {
	case authority:
		return "if the certificate of " + origin + " is from a private authority, name that with --ca-file"
	case name:
		return "the certificate is not for this address: check the base address"
	case expired && invalid.Reason == x509.Expired:
		return "the certificate is not valid at this time: check our clock and the certificate"
	case header:
		return origin + " does not speak TLS: check the scheme and port of the base address"
	case lookup && dns.IsNotFound:
		return "host not found: check the base address and the name resolution"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + origin + ": check the base address, and whether the service runs"
	case lookup, dial && op.Op == "dial":
		return origin + " is not reachable: check the network, the proxy and the base address"
	}
	return ""
}
