package token_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/token"
)

func newEndpoint(t testing.TB, url string, o token.EndpointOptions) *token.Endpoint {
	t.Helper()
	o.Retry.Rand = func(time.Duration) time.Duration { return 0 }
	e, err := token.NewEndpoint(token.NewSecret(url), o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A fakeTransport answers requests without a network.
type fakeTransport func(*http.Request) (*http.Response, error)

func (f fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func says(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

const someToken = "aGVhZA.Ym9keQ.c2ln"

func TestEndpointForms(t *testing.T) {
	quoted, _ := json.Marshal(someToken)
	for _, body := range []string{someToken, " " + someToken + "\r\n", string(quoted), `{"token":` + string(quoted) + `,"more":1}`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || r.URL.RequestURI() != "/dev/hash?user=u" {
				t.Errorf("got %s %s with %v", r.Method, r.URL, r.Header)
			}
			_, _ = io.WriteString(w, body)
		}))
		transport := &http.Transport{}
		if got := mint(t, newEndpoint(t, srv.URL+"/dev/hash?user=u", token.EndpointOptions{Transport: transport})); got != someToken {
			t.Errorf("%q: got %q", body, got)
		}
		transport.CloseIdleConnections()
		srv.Close()
	}
}

func TestEndpointErrors(t *testing.T) {
	const hash = "s3cr3t-hash"
	for _, c := range []struct {
		name   string
		answer func() (*http.Response, error)
		want   string
		tries  int
	}{
		{"no", func() (*http.Response, error) { return says(403, hash), nil }, "403 Forbidden", 1},
		{"not there", func() (*http.Response, error) { return says(404, ""), nil }, "404 Not Found", 1},
		{"redirect", func() (*http.Response, error) { return says(302, ""), nil }, "302 Found", 1},
		{"busy", func() (*http.Response, error) { return says(503, ""), nil }, "503", 5},
		{"broken", func() (*http.Response, error) { return nil, errors.New("broken") }, "broken", 5},
		{"a page", func() (*http.Response, error) { return says(200, "<html>"+hash), nil }, "not a token", 1},
		{"two parts", func() (*http.Response, error) { return says(200, hash+".x"), nil }, "not a token", 1},
		{"two words", func() (*http.Response, error) { return says(200, hash+". .x"), nil }, "not a token", 1},
		{"empty", func() (*http.Response, error) { return says(204, ""), nil }, "not a token", 1},
		{"other JSON", func() (*http.Response, error) { return says(200, `{"jwt":"`+hash+`"}`), nil }, "not a token", 1},
		{"half a string", func() (*http.Response, error) { return says(200, `"`+someToken), nil }, "not a token", 1},
		{"long", func() (*http.Response, error) { return says(200, strings.Repeat("x", 1<<20)), nil }, "too long", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries := 0
			e := newEndpoint(t, "https://example.com/token/"+hash+"?k="+hash, token.EndpointOptions{Transport: fakeTransport(func(*http.Request) (*http.Response, error) {
				tries++
				return c.answer()
			})})
			_, err := e.Token(t.Context())
			failure, ok := errors.AsType[*token.EndpointError](err)
			if !ok || !strings.Contains(err.Error(), c.want) || failure.Origin != "https://example.com:443" || tries != c.tries {
				t.Errorf("got %v after %d tries", err, tries)
			}
			if text := fmt.Sprintf("%v %+v %#v %s", err, err, e, failure.Hint()); strings.Contains(text, hash) {
				t.Errorf("shows a secret: %s", text)
			}
		})
	}
}

func TestEndpointURL(t *testing.T) {
	const seed = "s3cr3t"
	for _, url := range []string{"", "example.com/" + seed, "ftp://example.com/" + seed, "http://example.com/" + seed, "https://u:" + seed + "@example.com", "https://example.com:" + seed} {
		if _, err := token.NewEndpoint(token.NewSecret(url), token.EndpointOptions{}); err == nil || strings.Contains(err.Error(), seed) {
			t.Errorf("%q: got %v", url, err)
		}
	}
	if _, err := token.NewEndpoint(token.NewSecret("http://example.com/x"), token.EndpointOptions{AllowHTTP: true}); err != nil {
		t.Error(err)
	}
}

// TestEndpointLife verifies that a new token is requested at half of the lifetime, after an hour if
// the token has no expiry, and when the service has refused the token.
func TestEndpointLife(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := newMinter(t, token.Claims{Environment: "env"})
			m.Life = 20 * time.Minute
			life, asked := time.Hour, 0
			if known {
				life = 10 * time.Minute
			}
			e := newEndpoint(t, "https://example.com", token.EndpointOptions{Transport: fakeTransport(func(*http.Request) (*http.Response, error) {
				asked++
				if !known {
					return says(200, fmt.Sprintf("a.b.%d", asked)), nil
				}
				m.Invalidate()
				return says(200, mint(t, m)), nil
			})})
			for _, step := range []struct {
				wait time.Duration
				want int
			}{{0, 1}, {life - 1, 1}, {1, 2}, {life / 2, 2}} {
				time.Sleep(step.wait)
				if mint(t, e); asked != step.want {
					t.Fatalf("known %v, after %v: asked %d times, want %d", known, step.wait, asked, step.want)
				}
			}
			e.Invalidate()
			if mint(t, e); asked != 3 {
				t.Errorf("known %v, after a refusal: asked %d times", known, asked)
			}
		})
	}
}

func TestEndpointTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint(t, "https://example.com", token.EndpointOptions{Timeout: time.Second, Retry: retry.Policy{Attempts: 2}, Transport: fakeTransport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		start := time.Now()
		if _, err := e.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "longer than 1s") || time.Since(start) != 2*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		if _, err := e.Token(ctx); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
	})
}

func TestEndpointAsksOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		e := newEndpoint(t, "https://example.com", token.EndpointOptions{Transport: fakeTransport(func(*http.Request) (*http.Response, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return says(200, someToken), nil
		})})
		for range 8 {
			go func() {
				if _, err := e.Token(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(time.Minute)
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}
