package assets

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
)

// A bodyDialer makes connections that share the buffers for sending bodies. A transport would
// allocate one for each request, which is a quarter of the memory of an upload of 20 KiB.
type bodyDialer struct {
	net.Dialer
	buffers sync.Pool
}

const bodyBuffer = 64 << 10

func (d *bodyDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &bodyConn{Conn: conn, buffers: &d.buffers}, nil
}

// A bodyConn sends the header of a request together with the beginning of its body. A transport
// would write the header first, which costs a packet for each upload. Only one goroutine writes.
type bodyConn struct {
	net.Conn
	buffers *sync.Pool

	mu       sync.Mutex
	expected bool   // a request with a body follows
	header   []byte // held until its body follows
}

// expectBody announces a request with a body.
func (c *bodyConn) expectBody() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = true
}

// Write holds a complete header if a body is expected. Everything else is sent at once, after the
// held header.
func (c *bodyConn) Write(p []byte) (int, error) {
	header, held := c.hold(p)
	if held {
		return len(p), nil
	}
	if len(header) == 0 {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(append(header, p...))
	return max(0, n-len(header)), err
}

// hold holds a header if a body is expected. Otherwise it returns the held header.
func (c *bodyConn) hold(p []byte) (header []byte, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = c.expected && isHeader(p)
	if c.expected = false; held {
		c.header = append(c.header, p...)
		return nil, true
	}
	header, c.header = c.header, c.header[:0]
	return header, false
}

// maxHeader is the maximum size of a header that is held.
const maxHeader = 8 << 10

// isHeader reports whether a text ends with the end of a header, and nothing follows.
func isHeader(p []byte) bool {
	end := []byte("\r\n\r\n")
	return len(p) <= maxHeader && bytes.Index(p, end) == len(p)-len(end)
}

// ReadFrom sends a body, after the held header. Transports use it for unencrypted connections.
func (c *bodyConn) ReadFrom(r io.Reader) (int64, error) {
	buffer, ok := c.buffers.Get().(*[]byte)
	if !ok {
		buffer = new(make([]byte, bodyBuffer))
	}
	defer c.buffers.Put(buffer)
	n, err := c.sendHeld(r, *buffer)
	if err != nil {
		return n, err
	}
	more, err := io.CopyBuffer(struct{ io.Writer }{c.Conn}, r, *buffer)
	return n + more, err
}

// sendHeld sends the held header, if there is one, with the beginning of the body. It returns the
// number of bytes of the body.
func (c *bodyConn) sendHeld(r io.Reader, buffer []byte) (int64, error) {
	header, _ := c.hold(nil)
	held := copy(buffer, header)
	if held == 0 {
		return 0, nil
	}
	n, err := r.Read(buffer[held:])
	if err != nil && err != io.EOF {
		return 0, err // the request is over, and nothing of it was sent
	}
	sent, err := c.Conn.Write(buffer[:held+n])
	return int64(max(0, sent-held)), err
}
