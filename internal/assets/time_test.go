package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := answers("429 Retry-After=3600|", "429 Retry-After=7|", "503 Retry-After=40|", `201 {"id":"x"}`)
		var waits []time.Duration
		c, stop := serveBubble(t, Options{OnWait: func(w retry.Wait) { waits = append(waits, w.Delay) }, Retry: retry.Policy{MaxTime: time.Hour}}, a.ServeHTTP)
		defer stop()
		start := time.Now()
		_, err := c.Asset(t.Context(), "x")
		if got, want := time.Since(start), retry.MaxRetryAfter+47*time.Second; err != nil || got != want {
			t.Errorf("got %v after %v, want none after %v", err, got, want)
		}
		if got, want := fmt.Sprint(waits), "[10m0s 7s 40s]"; got != want {
			t.Errorf("waits: got %s, want %s", got, want)
		}
	})
}

func TestUploadHonoursRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := answers("429 Retry-After=7|", `201 {"id":"x"}`)
		c, stop := serveBubble(t, Options{}, a.ServeHTTP)
		defer stop()
		start := time.Now()
		_, err := c.Upload(t.Context(), upload(10))
		if got := time.Since(start); err != nil || got != 7*time.Second || a.count() != 2 {
			t.Errorf("got %v after %v and %d requests", err, got, a.count())
		}
	})
}

func TestLongRetryAfterIsLeftToTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := answers("429 Retry-After=300|")
		c, stop := serveBubble(t, Options{}, a.ServeHTTP)
		defer stop()
		start := time.Now()
		_, err := c.Upload(t.Context(), upload(10))
		class, after := retry.Classify(err)
		if class != retry.Throttled || after != 5*time.Minute || time.Since(start) != 0 {
			t.Errorf("got %v, %v, %v after %v", err, class, after, time.Since(start))
		}
	})
}

// hang never answers, but returns when the client disconnects.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestPingGivesUp(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"silence":    hang,
		"throttled":  answers("429 Retry-After=60|").ServeHTTP,
		"unanswered": answers("503").ServeHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, stop := serveBubble(t, Options{Retry: retry.Policy{Attempts: 1000, Rand: func(n time.Duration) time.Duration { return n }}}, handler)
				defer stop()
				start := time.Now()
				err := c.Ping(t.Context())
				if got := time.Since(start); err == nil || got > 10*time.Second {
					t.Errorf("got %v after %v", err, got)
				}
			})
		})
	}
}

func TestPing(t *testing.T) {
	a := answers(`200 {"items":[],"totalCount":0}`)
	if err := serve(t, a.ServeHTTP).Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if got := a.got[0].URL.String(); got != "/categories?limit=1&workspaceId=w" {
		t.Errorf("got %s", got)
	}
	if err := serve(t, answers("200 <html>").ServeHTTP).Ping(t.Context()); err == nil {
		t.Error("not the service: no error")
	}
}

func TestSilenceAfterAnUploadIsUnconfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{}, hang)
		defer stop()
		start := time.Now()
		_, err := c.Upload(t.Context(), upload(10))
		if got := time.Since(start); !errors.Is(err, ErrUnconfirmed) || got != ResponseTimeout {
			t.Errorf("got %v after %v", err, got)
		}
	})
}

func TestStalledUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, stop := serveBubble(t, Options{}, func(http.ResponseWriter, *http.Request) { <-release })
		defer stop()
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		_, err := c.Upload(ctx, upload(large))
		_, stalled := errors.AsType[outbound.StallError](err)
		if got := time.Since(start); !stalled || errors.Is(err, ErrUnconfirmed) || got != stallTimeout {
			t.Errorf("got %v after %v", err, got)
		}
	})
}

// The test verifies that a slow body does not count as stalled, and that the response timeout
// starts at its end.
func TestSlowUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			for buf := make([]byte, 64<<10); ; {
				time.Sleep(stallTimeout / 2)
				if _, err := io.ReadFull(r.Body, buf); err != nil {
					break
				}
			}
			time.Sleep(ResponseTimeout / 2)
			io.WriteString(w, `{"id":"x"}`)
		})
		defer stop()
		if _, err := c.Upload(t.Context(), upload(1<<20)); err != nil {
			t.Error(err)
		}
	})
}

func TestStalledAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{Retry: retry.Policy{Attempts: 1}}, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"items":[`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		defer stop()
		_, err := c.Folders(t.Context())
		if _, stalled := errors.AsType[outbound.StallError](err); !stalled {
			t.Errorf("got %v", err)
		}
	})
}

func TestSecondTokenAfterAMinute(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Client) error{
		"read":   func(ctx context.Context, c *Client) error { _, err := c.Asset(ctx, "x"); return err },
		"upload": func(ctx context.Context, c *Client) error { _, err := c.Upload(ctx, upload(10)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &tokens{}
				valid := secret
				var requests int
				c, stop := serveBubble(t, Options{Tokens: source}, func(w http.ResponseWriter, r *http.Request) {
					requests++
					if r.Header.Get("Authorization") != valid {
						w.WriteHeader(401)
					}
					io.WriteString(w, `{"id":"x"}`)
				})
				defer stop()
				try := func(wantErr bool, want, invalidated int) {
					t.Helper()
					requests = 0
					if err := call(t.Context(), c); (err != nil) != wantErr {
						t.Errorf("got %v", err)
					}
					if requests != want || source.spent != invalidated {
						t.Errorf("got %d requests and %d tokens spent, want %d and %d", requests, source.spent, want, invalidated)
					}
				}
				try(false, 1, 0)
				valid = secret + "-2"
				try(true, 1, 0) // a token made at the same time would be equal
				time.Sleep(time.Minute)
				try(false, 2, 1)
				valid = "another"
				try(true, 1, 1)
				time.Sleep(time.Minute)
				try(true, 2, 2) // one more attempt only
			})
		})
	}
}

func TestSkewOf(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		server         string // as sent
		sent, received time.Duration
		want           time.Duration
	}{
		{"12:00:00", 0, 0, 0},
		{"12:00:00", 900 * time.Millisecond, 950 * time.Millisecond, 0}, // without its fraction
		{"12:00:00", 1500 * time.Millisecond, 1500 * time.Millisecond, -time.Second},
		{"12:00:05", 0, 10 * time.Second, 0}, // at any time in between
		{"12:05:00", 0, 0, 5*time.Minute + time.Second},
		{"12:05:00", 0, 2 * time.Second, 5 * time.Minute},
		{"11:55:00", 0, 200 * time.Millisecond, -5 * time.Minute},
	}
	for _, tt := range tests {
		clock, _ := time.Parse(time.TimeOnly, tt.server)
		server := at.Truncate(24 * time.Hour).Add(clock.Sub(clock.Truncate(24 * time.Hour)))
		if got := skewOf(server, at.Add(tt.sent), at.Add(tt.received)); got != tt.want {
			t.Errorf("%s, %v to %v: got %v, want %v", tt.server, tt.sent, tt.received, got, tt.want)
		}
	}
}

// aside returns a server whose clock differs from the local one.
func aside(skew time.Duration, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
		h(w, r)
	}
}

func TestSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{}, aside(-5*time.Minute, answers("401").ServeHTTP))
		defer stop()
		if _, known := c.Skew(); known {
			t.Error("known before the first answer")
		}
		_, err := c.Asset(t.Context(), "x")
		got, known := c.Skew()
		if off := got + 5*time.Minute; !known || off.Abs() > time.Second {
			t.Errorf("got %v, %v, want -5m", got, known)
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.Skew != got || e.Hint() != "set the clock, or use --compensate-clock" {
			t.Errorf("got %v", err)
		}
	})
}

// The test verifies that the duration of an upload does not affect the skew.
func TestSkewOfASlowUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{}, aside(5*time.Minute, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute)
			_, _ = io.Copy(io.Discard, r.Body)
			// The Date header is a minute old.
			w.Header().Set("Date", time.Now().Add(5*time.Minute).UTC().Format(http.TimeFormat))
			io.WriteString(w, `{"id":"x"}`)
		}))
		defer stop()
		if _, err := c.Upload(t.Context(), upload(1<<20)); err != nil {
			t.Fatal(err)
		}
		if got, known := c.Skew(); !known || (got-5*time.Minute).Abs() > time.Second {
			t.Errorf("got %v, %v, want 5m", got, known)
		}
	})
}

func TestCompensateClock(t *testing.T) {
	for _, compensate := range []bool{false, true} {
		t.Run(fmt.Sprint(compensate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &tokens{}
				var requests int
				c, stop := serveBubble(t, Options{Tokens: source, CompensateClock: compensate}, aside(-5*time.Minute, func(w http.ResponseWriter, r *http.Request) {
					if requests++; r.Header.Get("Authorization") == secret {
						w.WriteHeader(401)
					}
					io.WriteString(w, `{"id":"x"}`)
				}))
				defer stop()
				_, err := c.Upload(t.Context(), upload(10))
				if (err == nil) != compensate || requests != map[bool]int{false: 1, true: 2}[compensate] {
					t.Errorf("got %v after %d requests", err, requests)
				}
				if skew, _ := c.Skew(); compensate && source.skew != skew || !compensate && source.skew != 0 {
					t.Errorf("source was told %v", source.skew)
				}
			})
		})
	}
}
