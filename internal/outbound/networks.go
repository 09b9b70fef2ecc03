package outbound

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Networks are the allowed networks of untrusted hosts: from a table, a response or a redirect.
type Networks struct {
	Private bool // including this machine and private networks
}

// A NetworkError means that a URL leads to a network that is not allowed.
type NetworkError struct {
	To    string // an IP address, or the name of this machine
	Never bool   // no option allows it
}

func (e *NetworkError) Error() string {
	if e.Never {
		return fmt.Sprintf("leads to %s, which is never allowed", e.To)
	}
	return fmt.Sprintf("leads to %s, in a private network", e.To)
}

// CheckHost checks a host before name resolution, which a proxy does itself.
func (n Networks) CheckHost(host string) error {
	name := strings.TrimSuffix(plain(host), ".")
	if ip, err := netip.ParseAddr(name); err == nil {
		return n.Check(ip)
	}
	switch {
	case isNumber(name[strings.LastIndexByte(name, '.')+1:]):
		return &NetworkError{To: name, Never: true} // no name ends like that, but some resolvers read it as an IP address
	case !n.Private && (name == "localhost" || strings.HasSuffix(name, ".localhost")):
		return &NetworkError{To: name}
	}
	return nil
}

// plain converts a host to the characters that resolvers use (UTS 46).
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

// Check returns an error for an IP address outside the allowed networks. It unwraps IPv4 addresses
// in IPv6.
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

// embedded returns the IPv4 address in an IPv6 address of NAT64 or 6to4.
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

// isReserved reports whether no asset server can have an IP address. This includes metadata
// services of cloud machines, which return secrets.
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
