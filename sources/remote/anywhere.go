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

// AnywhereOptions are the choices of NewAnywhere.
type AnywhereOptions struct {
	Headers Headers
	// Hosts get the headers, and no others: names, or names with a port.
	Hosts []string
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// AllowPrivate allows addresses of this machine and of private networks.
	AllowPrivate bool
	// TLS is how to trust servers; nil is the usual way.
	TLS *tls.Config
	// Connections is how many idle ones are kept: as many as there are readers.
	Connections int
}

// Anywhere makes requests to addresses that somebody else wrote down, at any host. Where
// they lead is looked at when a connection is made, after names were looked up, because a
// name may lead elsewhere the next moment; redirects are followed, and looked at alike.
type Anywhere struct {
	http     *http.Client
	redactor *redact.Redactor
}

// NewAnywhere makes a client.
func NewAnywhere(o AnywhereOptions) *Anywhere {
	a := &hostTransport{options: o, header: o.Headers.all().Clone(), networks: outbound.Networks{Private: o.AllowPrivate}}
	a.next = NewTransport(Options{TLS: o.TLS, Connections: o.Connections})
	return &Anywhere{redactor: redact.New(o.Headers.secrets()...), http: &http.Client{Transport: a, CheckRedirect: outbound.FollowRedirects(maxRedirects)}}
}

// Do makes a request.
func (a *Anywhere) Do(r *http.Request) (*http.Response, error) { return a.http.Do(r) }

// CloseIdleConnections ends the connections that nobody uses.
func (a *Anywhere) CloseIdleConnections() { a.http.CloseIdleConnections() }

// Redact strikes out of a text what opens the source.
func (a *Anywhere) Redact(text string) string { return a.redactor.Text(text) }

// maxRedirects is how often a request is sent on. Who sends it on more often has rather
// lost the way.
const maxRedirects = 5

// A hostTransport makes requests to all those hosts.
type hostTransport struct {
	next     *http.Transport
	options  AnywhereOptions
	header   http.Header
	networks outbound.Networks
}

// RoundTrip implements http.RoundTripper. It is asked for each redirect as well.
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

// getsHeaders reports whether an address is at a host that gets the headers.
func (a *hostTransport) getsHeaders(u *url.URL) bool {
	for _, h := range a.options.Hosts {
		if strings.EqualFold(h, u.Hostname()) || strings.EqualFold(h, net.JoinHostPort(u.Hostname(), port(u))) {
			return true
		}
	}
	return false
}
