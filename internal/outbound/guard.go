package outbound

import (
	"context"
	"net/http"
	"net/netip"
	"syscall"
)

type guardKey struct{}

// Guarded returns a request as it may go to a host that somebody else named. The host is checked
// as it is written, and [CheckDial] checks the IP address that a connection goes to: a name may
// lead elsewhere the next moment, so nothing that was looked up before counts.
//
// A proxy looks names up itself. Behind one only hosts that are IP addresses, and those of this
// machine, are refused here; what names lead to is up to the proxy.
func Guarded(r *http.Request, n Networks) (*http.Request, error) {
	if err := n.CheckHost(r.URL.Hostname()); err != nil {
		return nil, err
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil { // which the user named, and may be anywhere
		return r, err
	}
	return r.WithContext(context.WithValue(r.Context(), guardKey{}, n)), nil
}

// CheckDial is the ControlContext of every dialer whose transport carries guarded requests. It
// lets all others pass. A transport may hand a connection that it made for one request to
// another one for the same host, so requests to one host are either all guarded or none.
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
