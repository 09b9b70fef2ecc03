package outbound_test

import (
	"net/netip"
	"strings"
	"testing"

	"assetferry/internal/outbound"
)

func TestNetworks(t *testing.T) {
	for _, test := range []struct {
		private, never bool
		addresses      string
	}{
		{false, false, "8.8.8.8 1.1.1.1 93.184.216.34 172.15.0.1 172.32.0.1 192.167.1.1 100.63.0.1 100.128.0.1 2606:4700::1111 2a00:1450:4001:81b::200e 64:ff9b::808:808"},
		{true, false, "127.0.0.1 127.1.2.3 ::1 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fd12::1 fc00::1 100.64.0.1 198.18.0.1 ::ffff:10.0.0.1 ::ffff:127.0.0.1 64:ff9b::a00:1 2002:a00:1::"},
		{false, true, "0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 224.0.0.1 239.1.1.1 255.255.255.255 240.0.0.1 192.0.2.1 198.51.100.1 203.0.113.1 100.100.100.200 168.63.129.16 " +
			":: fe80::1 fe80::1%eth0 ff02::1 fec0::1 fd00:ec2::254 2001:db8::1 2001::1 100::1 64:ff9b:1::1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::"},
	} {
		for text := range strings.FieldsSeq(test.addresses) {
			ip := netip.MustParseAddr(text)
			if got := (outbound.Networks{}).Check(ip) != nil; got != (test.private || test.never) {
				t.Errorf("%s: refused is %v", ip, got)
			}
			if got := (outbound.Networks{Private: true}).Check(ip) != nil; got != test.never {
				t.Errorf("%s, where private networks are allowed: refused is %v", ip, got)
			}
		}
	}
}

// TestHostsThatAreAddresses verifies that an IP address in an unusual spelling is not taken for a
// host name. Behind a proxy no other check would follow, because the proxy resolves host names.
func TestHostsThatAreAddresses(t *testing.T) {
	for text := range strings.FieldsSeq("127.0.0.1. 10.0.0.1. LOCALHOST. localhost a.localhost １２７.０.０.１ 127。0。0。1 ⓛocalhost") {
		if (outbound.Networks{}).CheckHost(text) == nil || (outbound.Networks{Private: true}).CheckHost(text) != nil {
			t.Errorf("%s is not taken for what is private", text)
		}
	}
	for text := range strings.FieldsSeq("127.1 2130706433 0x7f000001 0X7F.1 0177.0.0.1 127.0.0.01 1.2.3.4.5 0x 169.254.169.254. １６９.２５４.１６９.２５４") {
		if (outbound.Networks{Private: true}).CheckHost(text) == nil {
			t.Errorf("%s is taken for a name", text)
		}
	}
	for text := range strings.FieldsSeq("dam.example.com dam.example.com. 1.example.com 8.8.8.8 8.8.8.8. bücher.example 0xff.example a1 2606:4700::1111") {
		if err := (outbound.Networks{}).CheckHost(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
