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

// secret is seeded wherever a secret can be, and must not come out anywhere.
const secret = "s3cr3t-t0k3n"

// closedURL is a URL that no process listens at.
const closedURL = "http://127.0.0.1:1"

// A tokens source hands out secret, secret-2 and so on, the next one each time it is
// invalidated.
type tokens struct {
	mu    sync.Mutex
	spent int
	err   error // set before first use
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

// newClient fills in what tests do not care about: no time is spent on waits.
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

// answer is a handler that always says the same.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// events is a handler that answers with a stream.
func events(stream string) http.HandlerFunc { return answer(200, "text/event-stream", stream) }
