//go:build rclone

package rclone

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A relay passes connections to a server that may be absent. It reports each chunk of data before it
// passes it, and each connection that it cannot pass.
type relay struct {
	listener net.Listener
	to       string
	event    func()
	open     sync.WaitGroup // connections
}

func newRelay(t *testing.T, to string, event func()) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &relay{listener: l, to: to, event: event}
	var accepting sync.WaitGroup
	accepting.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
		r.open.Wait()
	})
	return r
}

// port returns the port that the relay listens on.
func (r *relay) port() string {
	_, port, _ := net.SplitHostPort(r.listener.Addr().String()) // that of a listener has one
	return port
}

// rest waits until the server has finished all requests of clients that have ended.
func (r *relay) rest(t *testing.T) {
	t.Helper()
	last, err := net.Dial("tcp", r.listener.Addr().String()) // it is accepted after all others
	must(t, err)
	defer last.Close()
	must(t, last.(*net.TCPConn).CloseWrite())
	_, _ = io.Copy(io.Discard, last) // until the relay closes it
	r.open.Wait()
}

func (r *relay) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.open.Go(func() { r.pass(c.(*net.TCPConn)) })
	}
}

// pass passes one connection. It ends when the server has closed it, so that the server has then
// finished all of its requests.
func (r *relay) pass(client *net.TCPConn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.to)
	if err != nil {
		r.event()
		return
	}
	defer server.Close()
	var sending sync.WaitGroup
	sending.Go(func() {
		r.copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite() // the server may have closed the connection
	})
	r.copy(client, server)
	_, _ = io.Copy(io.Discard, server) // if the client has ended, until the server has answered
	_ = client.Close()
	sending.Wait()
}

func (r *relay) copy(to io.Writer, from io.Reader) {
	chunk := make([]byte, 16<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			r.event()
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
