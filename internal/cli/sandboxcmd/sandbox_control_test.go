package sandboxcmd

import (
	"net"
	"testing"
)

// The test verifies that a sandbox on another local address of this machine can be stopped, and
// that orders are never sent to the real service.
func TestSandboxIsOnThisMachine(t *testing.T) {
	hosts := map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true, "0.0.0.0": true, "::": true, "api.example.com": false, "192.0.2.1": false, "": false}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok {
			hosts[n.IP.String()] = true
		}
	}
	for host, want := range hosts {
		if got := isThisMachine(host); got != want {
			t.Errorf("isThisMachine(%q) = %v, want %v", host, got, want)
		}
	}
}
