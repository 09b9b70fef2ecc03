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

// ErrRefused reports a refused URL in a response or redirect: it leads to this machine, a
// private network, or plain HTTP.
var ErrRefused = errors.New("refused")

// A delivery sends requests for content, whose URLs are in responses of the service. Requests
// to the origin of the base URL are sent normally. Other hosts are named by the service, which
// may be hostile, so they are checked.
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

// RoundTrip implements http.RoundTripper. It is also called for redirects.
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

// check refuses a URL by its scheme.
func (d *delivery) check(u *url.URL) error {
	if d.base.Scheme == "https" && u.Scheme == "http" {
		return fmt.Errorf("%w: %s %w", ErrRefused, outbound.Origin(u), outbound.ErrDowngrade)
	}
	if err := outbound.CheckScheme(u, d.allowHTTP); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

// checkRedirect sends the token only to the origin of the service. (net/http also sends it to
// subdomains.)
func (d *delivery) checkRedirect(next *http.Request, _ []*http.Request) error {
	if !d.isOwn(next.URL) {
		next.Header.Del("Authorization")
	}
	return d.check(next.URL)
}

// refusal returns the error of a request that the check refused, or nil.
func refusal(err error) error {
	if network, ok := errors.AsType[*outbound.NetworkError](err); ok { // without the text of the dialer
		return fmt.Errorf("%w: %w", ErrRefused, network)
	}
	if errors.Is(err, outbound.ErrDowngrade) && !errors.Is(err, ErrRefused) {
		return fmt.Errorf("%w: %w", ErrRefused, outbound.WithoutURL(err))
	}
	return nil
}

// refusalHint returns the next step after an [ErrRefused].
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

// A home knows where the base URL leads. In a private network, as on premises or with the
// sandbox, files may be there too. The first connection to the service decides, not a DNS
// lookup, so that a later change of DNS has no effect.
type home struct{ where atomic.Int32 }

const (
	unknownHome = iota
	publicHome
	privateHome
)

// begin decides by the base URL itself. Behind a proxy nothing else is known.
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

// learn receives a connection to the base URL after its TLS handshake.
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
