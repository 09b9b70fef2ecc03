package engine

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/state"
)

// cutOff returns a hook for the gate that fails every upload while the service is down.
func cutOff(down *atomic.Bool) func(int, *http.Request) error {
	return func(_ int, r *http.Request) error {
		if r.Method == http.MethodPost && down.Load() {
			return errors.New("no route to host")
		}
		return nil
	}
}

// TestOutageIsOutlasted verifies that no item fails, and nothing is sent twice, because of a short
// outage.
func TestOutageIsOutlasted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	var down atomic.Bool
	down.Store(true)
	calls := atomic.Int64{}
	fail := cutOff(&down)
	w.gate.on(func(n int, r *http.Request) error {
		if r.Method == http.MethodPost && calls.Add(1) > 9 { // three attempts with three requests each
			down.Store(false)
		}
		return fail(n, r)
	})
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 1 })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 3})
	if n := len(w.assetsAt()); n != 3 {
		t.Errorf("got %d assets, want 3", n)
	}
	attempts := 0
	for _, key := range []string{"a.jpg", "b.jpg", "c.jpg"} {
		i := w.item(plan, key)
		if attempts += i.Attempts; !i.RetryAt.IsZero() {
			t.Errorf("%s is done, and due %v", key, i.RetryAt)
		}
	}
	if attempts != 3+3 {
		t.Errorf("got %d attempts, want three in vain, and one more for each object", attempts)
	}
}

// TestRunEndsBeforeItsItemsAreDue verifies that a run does not wait for items that are due much
// later, and that the next call resumes them at their time.
func TestRunEndsBeforeItsItemsAreDue(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	var down atomic.Bool
	down.Store(true)
	w.gate.on(cutOff(&down))
	later := func(a *apply.Applier) { a.RetryPauses, a.Wait = []time.Duration{time.Hour}, time.Minute }
	plan, err := w.try(t.Context(), migrate.DefaultRules(), later)
	must(t, err)
	w.wantStates(plan, map[string]int64{"create retry_scheduled": 2})
	if run, err := w.store.Run(t.Context(), plan.Run.ID); err != nil || run.State != state.Applying {
		t.Fatalf("the run is %s (%v), want it open", run.State, err)
	}
	if i := w.item(plan, "a.jpg"); time.Until(i.RetryAt) < 50*time.Minute || !strings.Contains(i.Error, "no route") {
		t.Errorf("due %v, error %q", i.RetryAt, i.Error)
	}
	down.Store(false)
	asked := writes(w.during(func() { _, err = w.try(t.Context(), migrate.DefaultRules(), later) }))
	must(t, err)
	if len(asked) > 0 {
		t.Errorf("sent %v before it was due", asked)
	}
	w.wantStates(plan, map[string]int64{"create retry_scheduled": 2})
}

func TestAttemptsComeToAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "a")
	var down atomic.Bool
	down.Store(true)
	w.gate.on(cutOff(&down))
	plan, err := w.try(t.Context(), migrate.DefaultRules())
	must(t, err)
	w.wantStates(plan, map[string]int64{"create failed": 1})
	if i := w.item(plan, "a.jpg"); i.Attempts != 3 { // the first, and one after each of two pauses
		t.Errorf("got %d attempts, want 3", i.Attempts)
	}
}

// TestLongOutageStopsTheRun verifies that a run stops if all items fail for the same temporary
// reason, since the items are not the cause.
func TestLongOutageStopsTheRun(t *testing.T) {
	w := newWorld(t)
	w.putMany(60)
	var down atomic.Bool
	down.Store(true)
	w.gate.on(cutOff(&down))
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) {
		a.RetryPauses, a.Wait = []time.Duration{time.Hour}, short
	})
	if stop, ok := errors.AsType[*apply.BreakerError](err); !ok || !stop.Passes {
		t.Fatalf("got %v, want the circuit breaker", err)
	}
	states, _ := w.states(plan)
	if states["create retry_scheduled"] < 20 || states["create planned"] == 0 {
		t.Errorf("got %v", states)
	}
}

// A tryWatch calls tries when the run begins to try one item at a time.
type tryWatch struct {
	migrate.Silent
	tries func(items int, why string)
}

func (w tryWatch) Probing(items int, why string, _ time.Time) { w.tries(items, why) }

// patient makes a run wait for an outage to pass, however slow the machine is.
func patient(a *apply.Applier) { a.Wait = time.Hour }

// TestServiceRecovers verifies that a run waiting for an outage to pass tries one item at a time,
// and resumes all items as soon as one is uploaded.
func TestServiceRecovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putMany(60)
	before := int64(3 * migrate.Workers(4)) // attempts of items that were already in progress
	var down, trying, together atomic.Bool
	var tried, atOnce atomic.Int64
	down.Store(true)
	fail := cutOff(&down)
	w.gate.on(func(n int, r *http.Request) error {
		if r.Method != http.MethodPost || !trying.Load() || !down.Load() {
			return fail(n, r)
		}
		switch n := tried.Add(1); {
		case n > 2*before:
			down.Store(false)
		case n > before:
			if atOnce.Add(1) > 1 {
				together.Store(true)
			}
			<-time.After(5 * time.Millisecond) // time for a second attempt, if there is one
			atOnce.Add(-1)
		}
		return fail(n, r)
	})
	d := w.deps()
	reported := 0
	d.Watch = tryWatch{tries: func(items int, why string) {
		reported++
		if items != 20 || !strings.Contains(why, "no route") {
			t.Errorf("told of %d items: %s", items, why)
		}
		trying.Store(true)
	}}
	plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), patient)
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 60})
	if n := len(w.assetsAt()); n != 60 {
		t.Errorf("got %d assets, want 60", n)
	}
	if reported != 1 {
		t.Errorf("told %d times that one is tried, want once", reported)
	}
	if together.Load() {
		t.Error("several requests at once, want one")
	}
}

// TestOutageLongerThanAllAttempts verifies that a run waits exactly as long as Wait allows, however
// many attempts its items have left.
func TestOutageLongerThanAllAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putMany(25)
	var down atomic.Bool
	down.Store(true)
	fail := cutOff(&down)
	w.gate.on(func(n int, r *http.Request) error {
		if n > 25*3*4 { // three requests for each of four attempts of all items
			down.Store(false)
		}
		return fail(n, r)
	})
	plan, err := w.try(t.Context(), migrate.DefaultRules(), patient)
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 25})
}

// mostInVain is the largest number of items that fail in the same way before the run stops, with
// once concurrent uploads. When one more item stops the run, others may be unconfirmed, one fewer
// than would pause it, and every worker may have one. The last item is tried alone.
func mostInVain(once int) int64 { return int64(19 + once - 1 + migrate.Workers(once) + 1) }

// TestOutageOfEverything verifies that an outage in which lookups fail too does not make the whole
// library unconfirmed, however the outage shows.
func TestOutageOfEverything(t *testing.T) {
	t.Parallel()
	for _, refused := range []int64{0, 3} { // of six uploads
		t.Run(fmt.Sprint(refused), func(t *testing.T) { testOutageOfEverything(t, refused) })
	}
}

func testOutageOfEverything(t *testing.T, refused int64) {
	w := newWorld(t)
	w.putMany(200)
	var posts, sent atomic.Int64
	w.gate.on(func(_ int, r *http.Request) error {
		switch {
		case r.Method != http.MethodPost && posts.Load() == 0:
			return nil // the service was up during the plan
		case r.Method == http.MethodPost && posts.Add(1)%6 < refused:
			return errors.New("connection refused")
		case r.Method == http.MethodPost:
			sent.Add(1)
			_, err := io.Copy(io.Discard, r.Body)
			return errors.Join(err, errors.New("connection lost"))
		}
		return errors.New("no route to host")
	})
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Wait = short })
	broken, isBroken := errors.AsType[*apply.BreakerError](err)
	if !isBroken || !broken.Passes {
		t.Fatalf("got %v, want the circuit breaker, and that it may pass", err)
	}
	if n := sent.Load(); n > mostInVain(4) {
		t.Errorf("sent %d uploads into an outage", n)
	}
	w.gate.on(nil)
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 200})
	if n := len(w.assetsAt()); n != 200 {
		t.Errorf("got %d assets, want 200", n)
	}
}

// TestRetryAfterPutsAnItemOff verifies that the service decides the time of the next attempt with
// Retry-After.
func TestRetryAfterPutsAnItemOff(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=429 retry-after=300"))
	w.put("a.jpg", "a")
	began := time.Now()
	plan, err := w.try(t.Context(), migrate.DefaultRules())
	must(t, err)
	w.wantStates(plan, map[string]int64{"create retry_scheduled": 1})
	if due := w.item(plan, "a.jpg").RetryAt; due.Sub(began) < 299*time.Second || time.Until(due) > 5*time.Minute {
		t.Errorf("put off by %v, want 5 minutes", due.Sub(began))
	}
}

// TestRetriesExhausted verifies that an object that fails in several runs in a row is not tried
// again until it changes or the user asks for it.
func TestRetriesExhausted(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=422"))
	w.put("bad.jpg", "a")
	for n := range 5 {
		planned := w.migrate(migrate.DefaultRules())
		w.wantStates(planned, map[string]int64{"create failed": 1})
		if t.Failed() {
			t.Fatalf("in run %d", n)
		}
	}
	run := func() (planned migrate.Plan, sent int) {
		sent = w.during(func() { planned = w.migrate(migrate.DefaultRules()) })["POST /assets"]
		return planned, sent
	}
	planned, sent := run()
	w.wantStates(planned, map[string]int64{"create retries_exhausted": 1})
	if sent != 0 {
		t.Errorf("sent %d times", sent)
	}
	if i := w.item(planned, "bad.jpg"); i.Reason != string(migrate.ReasonRetriesExhausted) {
		t.Errorf("got reason %q", i.Reason)
	}

	rules := marshal(w, migrate.DefaultRules())
	begun, err := w.store.Begin(t.Context(), w.pair, "migrate", rules)
	must(t, err)
	p := plan.New(w.deps(), migrate.DefaultRules())
	p.RetryExhausted = true
	asked, err := p.Plan(t.Context(), begun)
	must(t, err)
	w.wantStates(asked, map[string]int64{"create planned": 1})
	must(t, w.applier(w.deps()).Apply(t.Context(), asked.Run))

	w.put("bad.jpg", "changed")
	if planned, sent := run(); sent != 1 {
		t.Errorf("a changed object was sent %d times", sent)
	} else {
		w.wantStates(planned, map[string]int64{"create failed": 1})
	}
}

// TestDrainingDoesNotWait verifies that a draining run does not wait for the next attempt of an
// item.
func TestDrainingDoesNotWait(t *testing.T) {
	w := newWorld(t)
	for n := range 8 {
		w.put(fmt.Sprintf("%d.jpg", n), fmt.Sprint(n))
	}
	var down atomic.Bool
	down.Store(true)
	stop := make(chan struct{})
	fail := cutOff(&down)
	w.gate.on(func(n int, r *http.Request) error {
		if n == 3 {
			close(stop)
		}
		return fail(n, r)
	})
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) {
		a.Stop, a.RetryPauses, a.Wait = stop, []time.Duration{time.Hour}, 2*time.Hour
	})
	if !errors.Is(err, migrate.ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	states, _ := w.states(plan)
	if states["create sending"]+states["create unconfirmed"]+states["create failed"] != 0 {
		t.Errorf("got %v", states)
	}
	down.Store(false)
	must(t, w.store.Supersede(t.Context(), plan.Run.Num))
	w.migrate(migrate.DefaultRules())
	if n := len(w.assetsAt()); n != 8 {
		t.Errorf("got %d assets, want 8", n)
	}
}
