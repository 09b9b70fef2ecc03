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

// cutOff gives a hook for the gate under which no upload gets through as long as
// the service is down.
func cutOff(down *atomic.Bool) func(int, *http.Request) error {
	return func(_ int, r *http.Request) error {
		if r.Method == http.MethodPost && down.Load() {
			return errors.New("no route to host")
		}
		return nil
	}
}

// An outage that passes costs no item, and nothing is sent twice for it.
func TestOutageIsOutlasted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	var down atomic.Bool
	down.Store(true)
	calls := atomic.Int64{}
	fail := cutOff(&down)
	w.gate.on(func(n int, r *http.Request) error {
		if r.Method == http.MethodPost && calls.Add(1) > 9 { // three attempts with three tries each
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

// A run does not stay for items that are due much later, and the next call goes on
// with them when their time has come.
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

// Items that all fail for the same passing reason stop the run, too: it is not them
// that have to wait.
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

// tryWatch notes when it is told that one item at a time is tried.
type tryWatch struct {
	migrate.Silent
	tries func(items int, why string)
}

func (w tryWatch) Probing(items int, why string, _ time.Time) { w.tries(items, why) }

// patient has a run stay for trouble to pass, however long the machine takes for it.
func patient(a *apply.Applier) { a.Wait = time.Hour }

// As long as a run would stay for trouble to pass it tries one item at a time, and
// goes on with all of them as soon as one arrives.
func TestServiceRecovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putMany(60)
	before := int64(3 * migrate.Workers(4)) // tries of items that were under way already
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
			<-time.After(5 * time.Millisecond) // for another one to come, if there is one
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

// A run stays as long as it was told to, whatever attempts its items have left.
func TestOutageLongerThanAllAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putMany(25)
	var down atomic.Bool
	down.Store(true)
	fail := cutOff(&down)
	w.gate.on(func(n int, r *http.Request) error {
		if n > 25*3*4 { // three tries of a request, and four attempts of all items
			down.Store(false)
		}
		return fail(n, r)
	})
	plan, err := w.try(t.Context(), migrate.DefaultRules(), patient)
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 25})
}

// mostInVain is how many items come to the same end before that stops a run, where so many are
// sent at once. When one more stops it, others may be unconfirmed, one less than would hold the run
// back, and every worker may have one. The last is tried alone.
func mostInVain(once int) int64 { return int64(19 + once - 1 + migrate.Workers(once) + 1) }

// In an outage in which nothing can be looked up either, not all of the library is
// sent to be unconfirmed, in whatever ways it shows.
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
			return nil // the service was there while the plan was made
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

// The other side knows best when it wants to be asked again.
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

// An object that fails in run after run is left alone, until it changes or
// somebody asks for it.
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

// While the run is drained nothing waits for its turn any more.
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
