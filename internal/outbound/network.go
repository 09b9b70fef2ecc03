package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// WithoutURL removes the wrapper of net/http from an error, which contains the whole URL.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// ContextError returns the error of a context joined with its cause.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return err
	}
	if stalled, ok := errors.AsType[StallError](cause); ok {
		return stalled // from our watchdog, not from the caller
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// IsTrustError reports whether TLS could not verify the server. A retry does not help.
func IsTrustError(err error) bool {
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	return bad || header
}

// ConnectFailure returns why no connection to a server was possible, in words; "" for other errors.
func ConnectFailure(err error) string {
	dns, lookup := errors.AsType[*net.DNSError](err)
	op, network := errors.AsType[*net.OpError](err)
	call, system := errors.AsType[*os.SyscallError](err)
	switch {
	case IsTrustError(err):
		return strings.TrimPrefix(WithoutURL(err).Error(), "tls: ")
	case lookup:
		return "host " + dns.Name + ": " + dns.Err
	case !network || op.Op != "dial":
		return ""
	case system:
		return call.Err.Error()
	}
	return op.Err.Error()
}

// Hint returns the next step after a network error, or "" if the error is enough.
func Hint(err error, origin string) string {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	invalid, expired := errors.AsType[x509.CertificateInvalidError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	dns, lookup := errors.AsType[*net.DNSError](err)
	op, dial := errors.AsType[*net.OpError](err)
	switch {
	case authority:
		return "if a private authority signed the certificate of " + origin + ", add --ca-file FILE"
	case name:
		return "the certificate is for another host: check the base URL"
	case expired && invalid.Reason == x509.Expired:
		return "the certificate is not valid at this time: check the clock of this machine, and the certificate"
	case header:
		return origin + " does not support TLS: check the scheme and the port of the base URL"
	case lookup && dns.IsNotFound:
		return "host not found: check the base URL and the name resolution"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no process listens at " + origin + ": check the base URL, and that the service is running"
	case lookup, dial && op.Op == "dial":
		return origin + " is not reachable: check the network, the proxy and the base URL"
	}
	return ""
}
