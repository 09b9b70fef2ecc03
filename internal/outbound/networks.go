package outbound

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Networks are those that requests to a host may go to that somebody else named: a table, an
// answer, a redirect.
type Networks struct {
	Private bool // also this machine and private networks
}

// A NetworkError refuses to go where a URL leads.
type NetworkError struct {
	To    string // an address, or the name of this machine
	Never bool   // whatever is allowed
}

func (e *NetworkError) Error() string {
	if e.Never {
		return fmt.Sprintf("leads to %s, where no assets are", e.To)
	}
	return fmt.Sprintf("leads to %s, in a private network", e.To)
}

// CheckHost looks at a host as it is written, before names are looked up: a proxy would do
// that in its own way.
func (n Networks) CheckHost(host string) error {
	name := strings.TrimSuffix(plain(host), ".")
	if ip, err := netip.ParseAddr(name); err == nil {
		return n.Check(ip)
	}
	switch {
	case isNumber(name[strings.LastIndexByte(name, '.')+1:]):
		return &NetworkError{To: name, Never: true} // no name ends like that, but some take it for an address
	case !n.Private && (name == "localhost" || strings.HasSuffix(name, ".localhost")):
		return &NetworkError{To: name}
	}
	return nil
}

// plain writes a host in the characters that others make of it (UTS 46).
func plain(host string) string {
	return strings.ToLower(strings.ReplaceAll(norm.NFKC.String(host), "。", "."))
}

func isNumber(label string) bool {
	digits, hexadecimal := strings.CutPrefix(label, "0x")
	if hexadecimal {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// Check refuses an address that is not in these networks. What IPv6 wraps around an address of
// IPv4 is taken off before.
func (n Networks) Check(ip netip.Addr) error {
	ip = embedded(ip.WithZone("").Unmap())
	switch {
	case isReserved(ip):
		return &NetworkError{To: ip.String(), Never: true}
	case !n.Private && isPrivate(ip):
		return &NetworkError{To: ip.String()}
	}
	return nil
}

// embedded is the address of version 4 that one of version 6 stands for: NAT64 and 6to4.
func embedded(ip netip.Addr) netip.Addr {
	b := ip.As16()
	switch {
	case !ip.Is6():
		return ip
	case netip.MustParsePrefix("64:ff9b::/96").Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case netip.MustParsePrefix("2002::/16").Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return ip
}

// isReserved reports whether no server with assets can be at an address: among them are
// those where machines in a cloud are told their secrets.
func isReserved(ip netip.Addr) bool {
	if ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast() || ip.IsInterfaceLocalMulticast() {
		return true
	}
	if ip.Is6() && !ip.IsLoopback() && !ip.IsPrivate() && !netip.MustParsePrefix("2000::/3").Contains(ip) {
		return true
	}
	return isIn(ip, "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::/32", "2001::/23", "2001:db8::/32")
}

func isPrivate(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsPrivate() || isIn(ip, "100.64.0.0/10", "198.18.0.0/15")
}

func isIn(ip netip.Addr, prefixes ...string) bool {
	for _, p := range prefixes {
		if netip.MustParsePrefix(p).Contains(ip) {
			return true
		}
	}
	return false
}
