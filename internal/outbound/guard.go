package outbound

import (
	"context"
	"net/http"
	"net/netip"
	"syscall"
)

type guardKey struct{}

// Guarded returns a request to an untrusted host, with checks. It checks the host in the URL, and
// [CheckDial] checks the IP address of the connection. An earlier name resolution does not count,
// because a name may resolve to another address the next time.
//
// A proxy resolves names itself. Behind a proxy, only hosts that are IP addresses or names of this
// machine are refused.
func Guarded(r *http.Request, n Networks) (*http.Request, error) {
	if err := n.CheckHost(r.URL.Hostname()); err != nil {
		return nil, err
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil { // the user trusts the proxy
		return r, err
	}
	return r.WithContext(context.WithValue(r.Context(), guardKey{}, n)), nil
}

// CheckDial is the ControlContext of every dialer of guarded requests. It does not check other
// requests. A transport may reuse a connection for other requests to the same host, so either all
// requests to a host are guarded or none.
func CheckDial(ctx context.Context, _, address string, _ syscall.RawConn) error {
	n, guarded := ctx.Value(guardKey{}).(Networks)
	if !guarded {
		return nil
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return n.Check(to.Addr())
}
