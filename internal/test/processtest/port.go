// Package processtest has what tests need that run other programs: a port for a server, the start and
// the end of a process.
package processtest

import (
	"net"
	"testing"
)

// FreePort returns a port of 127.0.0.1 that no program uses now.
func FreePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String()) // that of a listener has one
	return port
}
