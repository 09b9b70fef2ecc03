// Package wordpress is a client of the REST API of WordPress. It finds the API of a site, signs in
// with an application password, and reads lists that change while they are read:
//
//	site, err := wordpress.ParseURL("wordpress+https://www.example.com/blog")
//	c := wordpress.New(site, wordpress.Options{User: "jo", Password: secret})
//	for item, err := range c.List(ctx, "/wp/v2/media", url.Values{"context": {"edit"}}) { ... }
//
// A client writes only if it was made for that. Plugins print warnings in front of JSON, answer with
// web pages, and refuse requests in ways of their own. So each [Error] says what the site did, and
// what to do about it.
package wordpress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// Options are the options of New; the zero value reads what is public.
type Options struct {
	// User and Password are the name of an account and one of its application passwords.
	User, Password string
	// Headers are for servers in front of the site.
	Headers remote.Headers
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// TLS is the configuration for the site; nil for the default.
	TLS *tls.Config
	// Connections is the number of idle connections to keep: one per reader.
	Connections int
	// Write allows Post.
	Write bool
}

// requestTimeout is the maximum time for a complete response. Large sites need long for their lists.
const requestTimeout = 3 * time.Minute

// A Client makes requests to one site. Its methods may be called from several goroutines at once.
type Client struct {
	url      URL
	http     *remote.Client
	redactor *redact.Redactor
	signed   bool // there is an application password
	write    bool
	timeout  time.Duration

	mu   sync.Mutex
	root *url.URL // of the API; nil until it was found
	site Site
}

// New returns a client. It makes no request.
func New(u URL, o Options) *Client {
	c := &Client{url: u, redactor: redact.New(), signed: o.Password != "", write: o.Write, timeout: requestTimeout}
	headers := o.Headers
	if c.signed {
		headers = headers.WithBasicAuth(o.User, o.Password)
		for _, text := range Secrets(o.User, o.Password) {
			c.redactor.Key(text)
		}
	}
	c.http = remote.New(remote.Options{Origin: u.site, Headers: headers, AllowHTTP: o.AllowHTTP, TLS: o.TLS, Connections: o.Connections, AnswerTimeout: requestTimeout})
	return c
}

// Secrets returns all forms of an application password. WordPress shows it with spaces, and accepts it
// without.
func Secrets(user, password string) []string {
	plain := strings.ReplaceAll(password, " ", "")
	return []string{password, plain, base64.StdEncoding.EncodeToString([]byte(user + ":" + password)), base64.StdEncoding.EncodeToString([]byte(user + ":" + plain))}
}

// URL returns the URL of the site.
func (c *Client) URL() URL { return c.url }

// HasPassword reports whether the client has an application password.
func (c *Client) HasPassword() bool { return c.signed }

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Redact removes credentials from a text, because a site may repeat them.
func (c *Client) Redact(text string) string { return c.redactor.Text(c.http.Redact(text)) }

// IsOwn reports whether a URL has the origin of the site, which gets the credentials.
func (c *Client) IsOwn(u *url.URL) bool {
	return u.Scheme == c.url.site.Scheme && strings.EqualFold(u.Host, c.url.site.Host)
}

// Do makes a request for a file of the site, without retries and without following redirects.
func (c *Client) Do(r *http.Request) (*http.Response, error) { return c.http.Do(r) }

// Get reads a route of the API, such as /wp/v2/posts/7, and decodes the response.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	root, err := c.find(ctx)
	if err != nil {
		return err
	}
	a, err := c.ask(ctx, http.MethodGet, routeURL(root, path, query), nil)
	if err != nil {
		return err
	}
	return c.decode(a, into)
}

// ErrReadOnly means that a client was not made for writing.
var ErrReadOnly = errors.New("this client only reads")

// Post writes to a route of the API, and decodes the response, unless into is nil. It is repeated
// only if the site did not act on it.
func (c *Client) Post(ctx context.Context, path string, body, into any) error {
	if !c.write {
		return ErrReadOnly
	}
	root, err := c.find(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	a, err := c.ask(ctx, http.MethodPost, routeURL(root, path, nil), text)
	if err != nil || into == nil {
		return err
	}
	return c.decode(a, into)
}

// decode decodes a response, and names the part that is wrong.
func (c *Client) decode(a *answer, into any) error {
	if err := json.Unmarshal(a.json, into); err != nil {
		return c.fail(a, &remote.Failure{Err: errors.New("the response does not have the form of the REST API of WordPress: " + err.Error()), Kind: retry.Permanent}, hintOther)
	}
	return nil
}

// routeURL returns the URL of a route. The root of a site without permalinks has it in its query.
func routeURL(root *url.URL, path string, query url.Values) *url.URL {
	u := *root
	all := u.Query()
	if all.Has("rest_route") {
		all.Set("rest_route", strings.TrimSuffix(all.Get("rest_route"), "/")+path)
	} else {
		u.Path = strings.TrimSuffix(u.Path, "/") + path
		u.RawPath = ""
	}
	for name, values := range query {
		all[name] = values
	}
	u.RawQuery = all.Encode()
	return &u
}

// An answer is a complete response.
type answer struct {
	url    *url.URL
	status int
	header http.Header
	start  string // of the body, for errors
	json   []byte // nil if the body contains none
}

// ask makes a request with retries, and returns only successful responses.
func (c *Client) ask(ctx context.Context, method string, u *url.URL, body []byte) (got *answer, err error) {
	err = remote.Patiently(ctx, retry.Policy{Attempts: 5}, func(ctx context.Context) error {
		a, err := c.once(ctx, method, u, body)
		if err == nil {
			err = c.refused(a)
		}
		if err == nil {
			got = a
		}
		if method == http.MethodPost && !isUnsent(err) {
			return retry.Stop(err)
		}
		return err
	})
	return got, err
}

// isUnsent reports whether a site did not act on a request: it asked for fewer requests.
func isUnsent(err error) bool {
	f, ok := errors.AsType[*remote.Failure](err)
	return ok && f.Status == http.StatusTooManyRequests
}

// once makes a request, and reads the response.
func (c *Client) once(ctx context.Context, method string, u *url.URL, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, remote.ErrStalled)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "assetferry")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	at := &answer{url: u}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreached(ctx, at, err)
	}
	defer outbound.Drain(response.Body)
	at.status, at.header = response.StatusCode, response.Header
	meter := outbound.NewMeter(response.Body, weight).Whole(maxBody)
	text, err := meter.ReadAll()
	if large, ok := errors.AsType[*outbound.TooLargeError](err); ok {
		return nil, c.fail(at, &remote.Failure{Err: large, Kind: retry.Permanent}, "deactivate the plugin that adds data to the responses of the REST API")
	}
	if err != nil {
		return nil, c.unreached(ctx, at, err)
	}
	at.json = jsonIn(text)
	at.start = string(text[:min(len(text), 4<<10)])
	return at, nil
}

// Responses are kept as text and decoded one item at a time, so their memory is that of the text.
var weight = outbound.Weight{Object: 32, Value: 4}

const maxBody = 6 << 20

// jsonIn returns the JSON in a body. Plugins print warnings in front of it.
func jsonIn(body []byte) []byte {
	const maxTries = 1000
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	for range maxTries {
		begin := bytes.IndexAny(body, "{[")
		if begin < 0 {
			return nil
		}
		if body = body[begin:]; json.Valid(body) {
			return body
		}
		body = body[1:]
	}
	return nil
}

// unreached returns the error of a request without a complete response.
func (c *Client) unreached(ctx context.Context, at *answer, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, remote.ErrStalled) {
		return cause
	}
	if context.Cause(ctx) != nil {
		err = remote.ErrStalled
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the connection ended before the response did")
	}
	f := remote.Unreached(err, retry.Fatal)
	return c.fail(at, f, unreachedHint(f))
}
