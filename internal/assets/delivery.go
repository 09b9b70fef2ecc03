package assets

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"assetferry/internal/outbound"
)

// ErrRefused says that a URL was not followed that the service named, or that a redirect leads
// to: it leads into this machine or a private network, or to plain HTTP.
var ErrRefused = errors.New("refused")

// A delivery carries requests for content, whose URLs are in answers of the service. What is at
// the origin of the base address is had as usual. Any other host is one that the service names,
// and the service may be hostile: requests to it are guarded.
type delivery struct {
	base         *url.URL
	next         http.RoundTripper
	allowHTTP    bool
	allowPrivate bool
	home         home
}

func newDelivery(o Options, base *url.URL, next http.RoundTripper) *delivery {
	d := &delivery{base: base, next: next, allowHTTP: o.AllowHTTP, allowPrivate: o.AllowPrivateNetworks}
	d.home.begin(base)
	return d
}

// RoundTrip implements http.RoundTripper. It is asked for each redirect as well.
func (d *delivery) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.isOwn(r.URL) {
		return d.next.RoundTrip(r)
	}
	guarded, err := outbound.Guarded(r, outbound.Networks{Private: d.allowPrivate || d.home.isPrivate()})
	if err != nil {
		return nil, err
	}
	return d.next.RoundTrip(guarded)
}

// A follower is the transport of an http.Client that follows redirects.
type follower struct{ *delivery }

// RoundTrip implements http.RoundTripper.
func (f follower) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := f.delivery.RoundTrip(r)
	if err == nil {
		outbound.EndRedirect(answer)
	}
	return answer, err
}

// CloseIdleConnections is what http.Client calls.
func (d *delivery) CloseIdleConnections() {
	if next, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

func (d *delivery) isOwn(u *url.URL) bool { return outbound.Origin(u) == outbound.Origin(d.base) }

// check refuses a URL for its scheme.
func (d *delivery) check(u *url.URL) error {
	if d.base.Scheme == "https" && u.Scheme == "http" {
		return fmt.Errorf("%w: %s %w", ErrRefused, outbound.Origin(u), outbound.ErrDowngrade)
	}
	if err := outbound.CheckScheme(u, d.allowHTTP); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

// checkRedirect keeps the token away from any origin but the service's own.
// (net/http keeps it on the way to a subdomain, too.)
func (d *delivery) checkRedirect(next *http.Request, _ []*http.Request) error {
	if !d.isOwn(next.URL) {
		next.Header.Del("Authorization")
	}
	return d.check(next.URL)
}

// refusal is the error of a request that the guard did not let pass; nil if it is another one.
func refusal(err error) error {
	if network, ok := errors.AsType[*outbound.NetworkError](err); ok { // without what the dialer says of it
		return fmt.Errorf("%w: %w", ErrRefused, network)
	}
	if errors.Is(err, outbound.ErrDowngrade) && !errors.Is(err, ErrRefused) {
		return fmt.Errorf("%w: %w", ErrRefused, outbound.WithoutURL(err))
	}
	return nil
}

// refusalHint is the next step after an [ErrRefused].
func refusalHint(err error) string {
	network, ok := errors.AsType[*outbound.NetworkError](err)
	switch {
	case ok && network.Never:
		return "no flag permits this: fix the file URLs in the configuration of the service"
	case ok:
		return "if the service delivers its files from there, add --allow-private-networks"
	case errors.Is(err, outbound.ErrDowngrade):
		return "fix the file URLs in the configuration of the service: they must begin with https://"
	}
	return ""
}

// A home is where the base address leads. In a private network, as on premises or with the
// sandbox, files may be there too. The first connection over which the service was reached
// decides, and not a name that was looked up: who can make that name lead elsewhere afterwards
// gains nothing.
type home struct{ where atomic.Int32 }

const (
	unknownHome = iota
	publicHome
	privateHome
)

// begin decides what the base address says by itself. Behind a proxy nothing else can be known.
func (h *home) begin(base *url.URL) {
	name := strings.ToLower(base.Hostname())
	ip, err := netip.ParseAddr(name)
	proxy, _ := http.ProxyFromEnvironment(&http.Request{URL: base})
	switch {
	case err == nil:
		h.decide(ip)
	case name == "localhost":
		h.where.Store(privateHome)
	case proxy != nil:
		h.where.Store(publicHome)
	}
}

// learn is told of a connection to the base address, once TLS has established who is there.
func (h *home) learn(conn net.Conn) {
	if h.where.Load() != unknownHome || conn == nil {
		return
	}
	if to, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		h.decide(to.Addr())
	}
}

func (h *home) decide(ip netip.Addr) {
	where := int32(publicHome)
	if (outbound.Networks{}).Check(ip) != nil {
		where = privateHome
	}
	h.where.CompareAndSwap(unknownHome, where)
}

func (h *home) isPrivate() bool { return h.where.Load() == privateHome }
