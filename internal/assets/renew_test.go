package assets

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Many workers see the same token refused at once: it is replaced once, and none
// of them fails.
func TestRenewOnceForAllWorkers(t *testing.T) {
	source := &tokens{}
	var mu sync.Mutex
	valid := secret
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != valid {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{"id":"x"}`)
	}))
	t.Cleanup(srv.Close)
	now := time.Now()
	c := newClient(t, Options{BaseURL: srv.URL, Tokens: source, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	var wg sync.WaitGroup
	work := func() {
		for range 32 {
			wg.Go(func() {
				if _, err := c.Asset(t.Context(), "x"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	work()
	mu.Lock()
	valid, now = secret+"-2", now.Add(time.Hour)
	mu.Unlock()
	work()
	if source.spent != 1 {
		t.Errorf("got %d tokens spent, want 1", source.spent)
	}
}
