package sandboxtest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Connections are the open connections of a server.
type Connections struct {
	server  *httptest.Server
	mu      sync.Mutex
	open    map[net.Conn]bool
	changed sync.Cond // signals a change of open
}

// KeepConnections records the connections of a server that is not started yet.
func KeepConnections(s *httptest.Server) *Connections {
	c := &Connections{server: s, open: map[net.Conn]bool{}}
	c.changed.L = &c.mu
	s.Config.ConnState = c.note
	return c
}

func (c *Connections) note(conn net.Conn, now http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now {
	case http.StateNew:
		c.open[conn] = true
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	c.changed.Broadcast()
}

// Rest waits until the server has finished all requests of clients that have closed their
// connections, including those that it has not accepted yet. It also waits until all other clients
// close theirs.
func (c *Connections) Rest(tb testing.TB) {
	tb.Helper()
	last, err := net.Dial("tcp", c.server.Listener.Addr().String()) // it is accepted after all others
	if err != nil {
		tb.Fatal(err)
	}
	defer last.Close()
	c.server.Client().CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.onlyOpen(last.LocalAddr().String()) {
		c.changed.Wait()
	}
}

func (c *Connections) onlyOpen(from string) bool {
	for conn := range c.open {
		if conn.RemoteAddr().String() != from {
			return false
		}
	}
	return len(c.open) == 1
}
