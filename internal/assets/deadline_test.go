package assets

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// trickling answers with one byte every ten seconds, for hours.
func trickling(status int, begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if status == http.StatusFound {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Location", "/f")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, begin)
		for range 10_000 {
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(10 * time.Second):
			}
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
		}
	}
}

// The test verifies that an answer that trickles is ended, unless it is content, which may take any
// time while bytes arrive.
func TestAnswersThatTrickle(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		begin  string
		ask    func(context.Context, *Client) error
	}{
		"asset": {200, `{"id":`, func(ctx context.Context, c *Client) error { _, err := c.Asset(ctx, "x"); return err }},
		"list":  {200, `{"items":[`, func(ctx context.Context, c *Client) error { _, err := c.Folders(ctx); return err }},
		"error": {400, `{"message":`, func(ctx context.Context, c *Client) error { _, err := c.Asset(ctx, "x"); return err }},
		"error of a download": {404, `{"message":`, func(ctx context.Context, c *Client) error {
			_, _, err := c.Download(ctx, "http://localhost/f", 0)
			return err
		}},
		"long error of a download": {404, strings.Repeat("x", maxFault+1), func(ctx context.Context, c *Client) error {
			_, _, err := c.Download(ctx, "http://localhost/f", 0)
			return err
		}},
		"redirect of a download": {302, `here`, func(ctx context.Context, c *Client) error {
			_, _, err := c.Download(ctx, "http://localhost/f", 0)
			return err
		}},
		"redirect of public": {302, `here`, func(ctx context.Context, c *Client) error {
			_, err := c.Public(ctx, "http://localhost/f")
			return err
		}},
		"public": {404, ``, func(ctx context.Context, c *Client) error {
			_, err := c.Public(ctx, "http://localhost/f")
			return errors.Join(err, errors.New("found"))
		}},
		"question": {200, ``, func(ctx context.Context, c *Client) error {
			_, err := c.Ask(ctx, Question{Op: "ask", Method: http.MethodGet, URL: "/x"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, stop := serveBubble(t, Options{Retry: retry.Policy{Attempts: 1}}, trickling(tt.status, tt.begin))
				defer stop()
				began := time.Now()
				err := tt.ask(t.Context(), c)
				if took := time.Since(began); err == nil || took > answerTimeout+time.Second {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(stallTimeout - time.Second)
			}
		})
		defer stop()
		body, _, err := c.Download(t.Context(), "http://localhost/f", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if data, err := io.ReadAll(body); err != nil || len(data) != 100 {
			_, stalled := errors.AsType[outbound.StallError](err)
			t.Errorf("content: %d bytes, %v, stalled is %v", len(data), err, stalled)
		}
	})
}
