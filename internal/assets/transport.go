package assets

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assetferry/internal/outbound"
)

// ErrReadOnly reports a writing request of a read-only client.
var ErrReadOnly = errors.New("rejected: this client only reads")

const (
	// ResponseTimeout is the maximum time for an answer after the complete request. Code that
	// confirms an unconfirmed request must wait at least as long.
	ResponseTimeout = 60 * time.Second
	// stallTimeout is the maximum time without progress of a body, in either direction.
	stallTimeout = 2 * time.Minute
	// answerTimeout is the maximum time of an answer that is not content, after its header:
	// otherwise one that trickles would block a worker forever.
	answerTimeout = 2 * time.Minute

	maxRedirects = 10
)

// NewTransport returns a transport for many parallel workers; config may be nil.
func NewTransport(config *tls.Config) *http.Transport {
	dialer := bodyDialer{Dialer: net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, ControlContext: outbound.CheckDial}}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  ResponseTimeout, // starts at the end of the body
		MaxResponseHeaderBytes: outbound.MaxHeader,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256, // the maximum number of parallel requests, so that connections are reused
		WriteBufferSize:        64 << 10,
		ReadBufferSize:         16 << 10,
	}
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

// A readOnlyTransport prevents writing requests in a dry run, even if the code has a bug. It
// permits requests that only read, the lookup of names, searches, and the request for the cookie
// for private files.
type readOnlyTransport struct {
	next   http.RoundTripper
	access string // URL that returns the cookie
	names  string // URL that returns existing names
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

// onlyReads reports whether a POST request to a URL changes nothing.
func (t readOnlyTransport) onlyReads(to *url.URL) bool {
	withoutQuery, _, _ := strings.Cut(to.String(), "?")
	return to.String() == t.access || withoutQuery == t.names || withoutQuery == t.search
}

func (t readOnlyTransport) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}
