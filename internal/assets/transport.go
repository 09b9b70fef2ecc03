package assets

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"assetferry/internal/outbound"
)

// ErrReadOnly says that a client made for reading was asked to write.
var ErrReadOnly = errors.New("rejected: this client only reads")

const (
	// ResponseTimeout is how long the service may think about a request that
	// it has got completely. Whoever settles a request in doubt waits at least
	// as long.
	ResponseTimeout = 60 * time.Second
	// stallTimeout is how long a body may stand still on its way, in either
	// direction, before the request is given up.
	stallTimeout = 2 * time.Minute
	// answerTimeout is how long all of an answer that is not content may take, once its head is
	// there: one that trickles would else hold a worker for ever.
	answerTimeout = 2 * time.Minute

	maxRedirects = 10
)

// NewTransport returns a transport for many workers at once; config may be nil.
func NewTransport(config *tls.Config) *http.Transport {
	dialer := bodyDialer{Dialer: net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, ControlContext: outbound.CheckDial}}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  ResponseTimeout, // counts from the end of the request's body
		MaxResponseHeaderBytes: outbound.MaxHeader,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256, // as many as requests at once there can be, so that none dials twice
		WriteBufferSize:        64 << 10,
		ReadBufferSize:         16 << 10,
	}
}

// A bodyDialer makes connections that share the buffers through which bodies are sent. A
// transport would make one for each request, which is a quarter of all the memory that an
// upload of 20 KiB goes through.
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
	return &bodyConn{conn, &d.buffers}, nil
}

type bodyConn struct {
	net.Conn
	buffers *sync.Pool
}

// ReadFrom is what a transport sends bodies with, unless they are encrypted.
func (c *bodyConn) ReadFrom(r io.Reader) (int64, error) {
	buffer, ok := c.buffers.Get().(*[]byte)
	if !ok {
		buffer = new(make([]byte, bodyBuffer))
	}
	defer c.buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, r, *buffer)
}

func transportOf(o Options, base *url.URL) http.RoundTripper {
	transport := o.Transport
	if transport == nil {
		transport = NewTransport(nil)
	}
	if o.ReadOnly {
		transport = readOnlyTransport{transport, base.String() + accessRoute, base.String() + namesRoute, base.String() + searchRoute}
	}
	return transport
}

// A readOnlyTransport makes a dry run harmless even if there is a mistake in it. It lets
// pass what only reads, the question which names are taken, a search, and the way to the cookie
// without which some files cannot be read.
type readOnlyTransport struct {
	next   http.RoundTripper
	access string // the URL that gives the cookie
	names  string // the URL that tells which names are taken
	search string
}

func (t readOnlyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPost && t.onlyReads(r.URL) {
		return t.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, ErrReadOnly
}

// onlyReads reports whether a POST to a URL changes nothing.
func (t readOnlyTransport) onlyReads(to *url.URL) bool {
	withoutQuery, _, _ := strings.Cut(to.String(), "?")
	return to.String() == t.access || withoutQuery == t.names || withoutQuery == t.search
}

func (t readOnlyTransport) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}
