package assets_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
	"assetferry/internal/token"
)

// oneToken is a source of a single token.
type oneToken struct{}

func (oneToken) Token(context.Context) (token.Secret, error) { return token.NewSecret("t"), nil }
func (oneToken) Invalidate()                                 {}

// A script is a transport that gives its answers in sequence.
type script struct {
	calls  int
	answer func(n int) (*http.Response, error)
}

func (a *script) RoundTrip(r *http.Request) (*http.Response, error) {
	a.calls++
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return a.answer(a.calls)
}

func scripted(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for n := 0; n < len(header); n += 2 {
		h.Set(header[n], header[n+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func rateLimitedClient(t *testing.T, a *script, l *ratelimit.Limiter, b *ratelimit.Bandwidth) *assets.Client {
	t.Helper()
	c, err := assets.New(assets.Options{BaseURL: "http://localhost", Tokens: oneToken{}, Transport: a, Limiter: l, Bandwidth: b})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func send(ctx context.Context, c *assets.Client, content string) error {
	_, err := c.Upload(ctx, assets.Upload{CategoryID: "c", Filename: "a.jpg", Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }})
	return err
}

// The test verifies that all requests respect the wait that the service asks of one of them.
func TestAllWaitForOneRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &script{answer: func(n int) (*http.Response, error) {
			if n == 1 {
				return scripted(429, "", "Retry-After", "20"), nil
			}
			return scripted(200, `{"id":"x"}`), nil
		}}
		c := rateLimitedClient(t, a, ratelimit.New(ratelimit.Options{Max: 4}), nil)
		start := time.Now()
		first := make(chan error)
		go func() { _, err := c.Asset(t.Context(), "1"); first <- err }()
		synctest.Wait()
		if _, err := c.Asset(t.Context(), "2"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 20*time.Second {
			t.Errorf("another request waited %v, want 20s", took)
		}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
	})
}

// The test verifies that a request beyond the request limit is not sent, is not unconfirmed, and
// ends the run.
func TestRequestLimitCountsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &script{answer: func(int) (*http.Response, error) { return scripted(429, ""), nil }}
		calls := ratelimit.NewRequests(ratelimit.RequestLimit{Requests: 3, Window: time.Hour}, time.Now)
		c := rateLimitedClient(t, a, ratelimit.New(ratelimit.Options{Max: 4, Requests: calls}), nil)
		err := send(t.Context(), c, "x")
		if class, _ := retry.Classify(err); class != retry.Fatal || errors.Is(err, assets.ErrUnconfirmed) || a.calls != 3 {
			t.Errorf("after %d calls: %v, want a fatal error after 3", a.calls, err)
		}
		if _, ok := errors.AsType[*ratelimit.RequestLimitError](err); !ok {
			t.Errorf("got %v, want a RequestLimitError in it", err)
		}
	})
}

func TestDrainingSendsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &script{answer: func(int) (*http.Response, error) { return scripted(429, "", "Retry-After", "60"), nil }}
		c := rateLimitedClient(t, a, ratelimit.New(ratelimit.Options{Max: 4}), nil)
		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		start := time.Now()
		err := send(retry.WithDrain(t.Context(), stop), c, "x")
		if !errors.Is(err, retry.ErrDraining) || errors.Is(err, assets.ErrUnconfirmed) || a.calls != 1 || time.Since(start) != time.Second {
			t.Errorf("after %v and %d calls: %v, want ErrDraining at once", time.Since(start), a.calls, err)
		}
	})
}

func TestBandwidthOfUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, err := ratelimit.ParseTimetable("1K")
		if err != nil {
			t.Fatal(err)
		}
		a := &script{answer: func(int) (*http.Response, error) { return scripted(201, `{"id":"x"}`), nil }}
		c := rateLimitedClient(t, a, nil, ratelimit.NewBandwidth(table, time.Now))
		start := time.Now()
		if err := send(t.Context(), c, strings.Repeat("x", 10<<10)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("10 KiB at 1 KiB/s took %v", took)
		}
	})
}
