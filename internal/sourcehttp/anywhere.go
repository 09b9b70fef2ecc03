package sourcehttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
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
	http    *http.Client
	headers Headers
}

// NewAnywhere makes a client.
func NewAnywhere(o AnywhereOptions) *Anywhere {
	a := &abroad{options: o, header: o.Headers.all().Clone(), networks: networks{private: o.AllowPrivate}}
	a.next = NewTransport(Options{TLS: o.TLS, Connections: o.Connections})
	a.next.Proxy, a.next.DialContext = a.proxy, a.dial
	return &Anywhere{headers: o.Headers, http: &http.Client{Transport: a, CheckRedirect: checkRedirect}}
}

// Do makes a request.
func (a *Anywhere) Do(r *http.Request) (*http.Response, error) { return a.http.Do(r) }

// CloseIdleConnections ends the connections that nobody uses.
func (a *Anywhere) CloseIdleConnections() { a.http.CloseIdleConnections() }

// Redact strikes out of a text what opens the source.
func (a *Anywhere) Redact(text string) string {
	for _, s := range a.headers.secrets() {
		text = strings.ReplaceAll(text, s, "…")
	}
	return text
}

// maxRedirects is how often a request is sent on. Who sends it on more often has rather
// lost the way.
const maxRedirects = 5

// ErrDowngrade refuses a redirect that leaves the encrypted way.
var ErrDowngrade = errors.New("a redirect leads from https to plain HTTP")

// ErrRedirects ends what leads in circles.
var ErrRedirects = fmt.Errorf("more than %d redirects", maxRedirects)

func checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return ErrRedirects
	case via[len(via)-1].URL.Scheme == "https" && to.URL.Scheme != "https":
		return ErrDowngrade
	}
	to.Header.Del("Referer") // the address may open something
	return nil
}

// An abroad is the way to all those hosts.
type abroad struct {
	next     *http.Transport
	options  AnywhereOptions
	header   http.Header
	networks networks
	proxies  sync.Map // addresses of proxies, which the user named and may be anywhere
}

// RoundTrip implements http.RoundTripper. It is asked for each redirect as well.
func (a *abroad) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && r.URL.Scheme != "http" {
		return nil, fmt.Errorf("%q is not http or https", r.URL.Scheme)
	}
	if err := CheckPlain(r.URL, a.options.AllowHTTP); err != nil {
		return nil, err
	}
	if err := a.networks.checkHost(r.URL.Hostname()); err != nil { // a proxy would go there for us
		return nil, err
	}
	if len(a.header) > 0 && a.isTold(r.URL) {
		r = r.Clone(r.Context())
		for name, values := range a.header {
			r.Header[name] = values
		}
	}
	return a.next.RoundTrip(r)
}

func (a *abroad) CloseIdleConnections() { a.next.CloseIdleConnections() }

// isTold reports whether an address is at a host that gets the headers.
func (a *abroad) isTold(u *url.URL) bool {
	for _, h := range a.options.Hosts {
		if strings.EqualFold(h, u.Hostname()) || strings.EqualFold(h, net.JoinHostPort(u.Hostname(), port(u))) {
			return true
		}
	}
	return false
}

func (a *abroad) proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if u != nil {
		usual := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
		a.proxies.Store(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual[u.Scheme])), true)
	}
	return u, err
}

func (a *abroad) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if _, is := a.proxies.Load(address); !is {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return a.networks.check(to.Addr())
		}
	}
	return d.DialContext(ctx, network, address)
}
