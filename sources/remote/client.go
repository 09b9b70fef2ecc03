package remote

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/redact"
)

// Options are the options of New.
type Options struct {
	// Origin is the only origin that gets headers and cookies: scheme, host and port.
	Origin  *url.URL
	Headers Headers
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// TLS is the configuration for the source; nil for the default.
	TLS *tls.Config
	// Connections is the number of idle connections to keep: one per reader.
	Connections int
	// AnswerTimeout is the maximum time until a response begins; 0 is a minute.
	AnswerTimeout time.Duration
}

// A Client makes requests to a source. It follows no redirects, because a redirect of a source
// usually leads to a login page.
type Client struct {
	http     *http.Client
	origin   *url.URL
	redactor *redact.Redactor
}

// New returns a client. Its cookie jar begins with the cookies in the headers, so that the source can
// renew the session.
func New(o Options) *Client {
	jar, _ := cookiejar.New(nil) // it never fails
	header := o.Headers.all().Clone()
	root := &url.URL{Scheme: o.Origin.Scheme, Host: o.Origin.Host, Path: "/"}
	for _, line := range header.Values("Cookie") {
		cookies, err := http.ParseCookie(line)
		if err != nil { // send the header unchanged
			continue
		}
		for _, c := range cookies {
			c.Path = "/"
		}
		jar.SetCookies(root, cookies)
	}
	if len(jar.Cookies(root)) > 0 {
		header.Del("Cookie")
	}
	return &Client{origin: root, redactor: redact.New(o.Headers.secrets()...), http: &http.Client{
		Transport:     &guard{next: NewTransport(o), origin: root, header: header, allowHTTP: o.AllowHTTP},
		Jar:           originJar{jar, root},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// NewTransport returns a transport for a source. It uses only the options TLS, Connections and
// AnswerTimeout.
func NewTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, ControlContext: outbound.CheckDial}
	connections := max(o.Connections, 16) + 1 // one is for the listing
	timeout := o.AnswerTimeout
	if timeout == 0 {
		timeout = time.Minute
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        o.TLS,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  timeout,
		MaxResponseHeaderBytes: outbound.MaxHeader,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		ReadBufferSize:         64 << 10,
		DisableCompression:     true, // the stored bytes are needed
		ForceAttemptHTTP2:      true,
	}
}

// Do makes a request.
func (c *Client) Do(r *http.Request) (*http.Response, error) { return c.http.Do(r) }

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Redact removes credentials of the source from a text, because a server may repeat them.
func (c *Client) Redact(text string) string {
	for _, cookie := range c.http.Jar.Cookies(c.origin) {
		c.redactor.Token(cookie.Value)
	}
	return c.redactor.Text(text)
}

// A guard adds the headers for the origin, and refuses plain HTTP where it is not allowed.
type guard struct {
	next      *http.Transport
	origin    *url.URL
	header    http.Header
	allowHTTP bool
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := CheckPlain(r.URL, g.allowHTTP); err != nil {
		return nil, err
	}
	if isOf(g.origin, r.URL) && len(g.header) > 0 {
		r = r.Clone(r.Context())
		for name, values := range g.header {
			for _, v := range values {
				r.Header.Add(name, v)
			}
		}
	}
	return g.next.RoundTrip(r)
}

func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

func isOf(origin, u *url.URL) bool {
	return u.Scheme == origin.Scheme && strings.EqualFold(u.Hostname(), origin.Hostname()) && port(u) == port(origin)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// originJar is a cookie jar for one origin.
type originJar struct {
	http.CookieJar
	origin *url.URL
}

func (j originJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	if isOf(j.origin, u) {
		j.CookieJar.SetCookies(u, cookies)
	}
}

func (j originJar) Cookies(u *url.URL) []*http.Cookie {
	if !isOf(j.origin, u) {
		return nil
	}
	return j.CookieJar.Cookies(u)
}
