package assets

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assetferry/internal/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// closedURL is a URL without a listening process. A port that a test has released may be in use
// again.
const closedURL = "http://127.0.0.1:1"

// secret is used in all inputs that may be secret. No output may contain it.
const secret = "s3cr3t-t0k3n"

// A tokens source returns secret, secret-2 and so on, the next one after each invalidation.
type tokens struct {
	mu    sync.Mutex
	spent int
	skew  time.Duration
	err   error
}

func (s *tokens) Token(context.Context) (token.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent == 0 {
		return token.NewSecret(secret), s.err
	}
	return token.NewSecret(fmt.Sprintf("%s-%d", secret, s.spent+1)), s.err
}

func (s *tokens) Invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent++
}

func (s *tokens) SetSkew(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = d
}

// newClient returns a client with defaults for tests: it does not wait between attempts.
func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Tokens == nil {
		o.Tokens = &tokens{}
	}
	if o.Retry.Rand == nil {
		o.Retry.Rand = func(time.Duration) time.Duration { return 0 }
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// serve starts a server and returns a client of it with the workspace w.
func serve(t testing.TB, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return newClient(t, Options{BaseURL: srv.URL, Workspace: "w"})
}

// An answering server gives its answers in sequence, repeats the last one, and counts requests.
type answering struct {
	mu      sync.Mutex
	answers []string // "200 body", or with headers "200 Name=value|body"
	got     []*http.Request
	bodies  []string
}

func answers(answers ...string) *answering { return &answering{answers: answers} }

func (a *answering) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.got)
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	text := a.answers[min(len(a.got), len(a.answers)-1)]
	a.got = append(a.got, r)
	a.bodies = append(a.bodies, string(body))
	a.mu.Unlock()
	status, text, _ := strings.Cut(text, " ")
	if header, rest, ok := strings.Cut(text, "|"); ok {
		name, value, _ := strings.Cut(header, "=")
		w.Header().Set(name, value)
		text = rest
	}
	var code int
	fmt.Sscan(status, &code)
	w.WriteHeader(code)
	io.WriteString(w, text)
}

// content returns a function that opens the same content each time.
func content(s string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
}

// upload returns an upload of size zero bytes.
func upload(size int64) Upload {
	return Upload{CategoryID: "c", Filename: "photo.jpg", Size: size, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeros{}, size)), nil
	}}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A pipeListener connects a client and a server without sockets, for bubbles of testing/synctest.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveBubble is serve in a bubble. The caller must call stop before the bubble ends.
func serveBubble(t testing.TB, o Options, h http.HandlerFunc) (c *Client, stop func()) {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	transport := NewTransport(nil)
	transport.DialContext = l.dial
	transport.Proxy = nil
	o.BaseURL, o.Transport = "http://localhost", transport
	c = newClient(t, o)
	return c, func() {
		c.CloseIdleConnections()
		_ = srv.Close()
		wg.Wait()
		time.Sleep(time.Minute) // in the time of the bubble: the server keeps closed connections for a while
	}
}
