package ai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/ai/aitest"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
)

// inProcess is a transport to a service in this process, which may use the fake time of a test.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// The test verifies that a client with a quota uses nine tenths of the limits per minute of a
// service, and is never rejected for its rate, whatever the load.
func TestKeepsToLimitsOfService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		environment := aiservicetest.Environment()
		service, err := aiservice.New(aiservice.Options{Environments: []tokens.Environment{environment}, Limits: aiservice.SaaS()})
		if err != nil {
			t.Fatal(err)
		}
		minter, err := token.NewMinter(token.NewSecret(string(environment.AccessKey)), token.Claims{Environment: environment.ID, Service: "ai", Permissions: aitest.Permissions()})
		if err != nil {
			t.Fatal(err)
		}
		c, err := ai.New(ai.Options{BaseURL: "http://localhost", Tokens: minter, Transport: inProcess{service}, Quota: ai.NewQuota(ai.SaaSLimits(), nil)})
		if err != nil {
			t.Fatal(err)
		}
		const minutes = 3
		ctx, cancel := context.WithTimeout(t.Context(), minutes*time.Minute)
		defer cancel()
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() { callUntilDone(ctx, t, c) })
		}
		workers.Wait()
		stats, err := service.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if most := minutes * 75; stats.BilledRequests > most || stats.BilledRequests < most*9/10 {
			t.Errorf("%d calls in %d minutes, of %d that are allowed", stats.BilledRequests, minutes, most)
		}
		for _, one := range stats.Requests {
			if one.Status == http.StatusTooManyRequests {
				t.Errorf("%+v: refused for the rate", one)
			}
		}
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
}

// callUntilDone sends actions until the context ends.
func callUntilDone(ctx context.Context, t *testing.T, c *ai.Client) {
	for ctx.Err() == nil {
		stream, err := c.Action(ctx, "make-shorter", "A text that goes on for a while.", nil)
		if err == nil {
			_, err = ai.Text(stream)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
			return
		}
	}
}
