package ai

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assetferry/internal/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is used in all inputs that may be secret. No output may contain it.
const secret = "s3cr3t-t0k3n"

// closedURL is a URL without a listening process.
const closedURL = "http://127.0.0.1:1"

// A tokens source returns secret, secret-2 and so on, the next one after each invalidation.
type tokens struct {
	mu    sync.Mutex
	spent int
	err   error // set before the first use
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

// serve starts a server and returns a client of it.
func serve(t testing.TB, o Options, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	o.BaseURL = srv.URL
	return newClient(t, o)
}

// answer returns a handler with a fixed answer.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// events returns a handler that answers with a stream.
func events(stream string) http.HandlerFunc { return answer(200, "text/event-stream", stream) }
