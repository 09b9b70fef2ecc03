package assets

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// The test verifies that a token that is refused for many workers at once is replaced once, and
// that no request fails.
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

// The test verifies that a worker whose refused token is replaced by another worker does not
// replace the new, unused token again.
func TestRenewOnceAfterAWait(t *testing.T) {
	source := &tokens{}
	c := &credential{source: source, server: &clock{}}
	begin := time.Now()
	first, err := c.use(t.Context(), begin)
	if err != nil {
		t.Fatal(err)
	}
	second, later := first, begin.Add(time.Hour)
	none := func() (time.Duration, bool) { return 0, false }
	if !c.renew(t.Context(), second, later, func() (time.Duration, bool) {
		if !c.renew(t.Context(), first, later, none) {
			t.Error("the first one gets no other try")
		}
		return 0, false
	}) {
		t.Error("the second one gets no other try")
	}
	if source.spent != 1 {
		t.Errorf("got %d tokens spent, want 1", source.spent)
	}
}
