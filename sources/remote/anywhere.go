package remote

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"assetferry/internal/outbound"
	"assetferry/internal/redact"
)

// AnywhereOptions are the options of NewAnywhere.
type AnywhereOptions struct {
	Headers Headers
	// Hosts are the only hosts that get the headers: names, or names with a port.
	Hosts []string
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// AllowPrivate allows this machine and private networks.
	AllowPrivate bool
	// TLS is the configuration for servers; nil for the default.
	TLS *tls.Config
	// Connections is the number of idle connections to keep: one per reader.
	Connections int
}

// Anywhere makes requests to untrusted URLs at any host. It checks the IP address of each connection
// after name resolution, because a name may resolve to another IP address the next time. It follows
// redirects, with the same checks.
type Anywhere struct {
	http     *http.Client
	redactor *redact.Redactor
}

// NewAnywhere returns a client.
func NewAnywhere(o AnywhereOptions) *Anywhere {
	a := &hostTransport{options: o, header: o.Headers.all().Clone(), networks: outbound.Networks{Private: o.AllowPrivate}}
	a.next = NewTransport(Options{TLS: o.TLS, Connections: o.Connections})
	return &Anywhere{redactor: redact.New(o.Headers.secrets()...), http: &http.Client{Transport: a, CheckRedirect: outbound.FollowRedirects(maxRedirects)}}
}

// Do makes a request.
func (a *Anywhere) Do(r *http.Request) (*http.Response, error) { return a.http.Do(r) }

// CloseIdleConnections closes idle connections.
func (a *Anywhere) CloseIdleConnections() { a.http.CloseIdleConnections() }

// Redact removes credentials of the source from a text.
func (a *Anywhere) Redact(text string) string { return a.redactor.Text(text) }

// maxRedirects is the maximum number of redirects of a request.
const maxRedirects = 5

// A hostTransport makes the requests to all hosts.
type hostTransport struct {
	next     *http.Transport
	options  AnywhereOptions
	header   http.Header
	networks outbound.Networks
}

// RoundTrip implements http.RoundTripper. Redirects pass it, too.
func (a *hostTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && r.URL.Scheme != "http" {
		return nil, fmt.Errorf("%q is not http or https", r.URL.Scheme)
	}
	if err := CheckPlain(r.URL, a.options.AllowHTTP); err != nil {
		return nil, err
	}
	r, err := outbound.Guarded(r, a.networks)
	if err != nil {
		return nil, err
	}
	if len(a.header) > 0 && a.getsHeaders(r.URL) {
		r = r.Clone(r.Context())
		for name, values := range a.header {
			r.Header[name] = values
		}
	}
	answer, err := a.next.RoundTrip(r)
	if err == nil {
		outbound.EndRedirect(answer)
	}
	return answer, err
}

func (a *hostTransport) CloseIdleConnections() { a.next.CloseIdleConnections() }

// getsHeaders reports whether the host of a URL gets the headers.
func (a *hostTransport) getsHeaders(u *url.URL) bool {
	for _, h := range a.options.Hosts {
		if strings.EqualFold(h, u.Hostname()) || strings.EqualFold(h, net.JoinHostPort(u.Hostname(), port(u))) {
			return true
		}
	}
	return false
}
