package engine

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/seedtest"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
)

// A steppedClock is a clock that can be set while it runs.
type steppedClock struct{ ahead atomic.Int64 }

func (c *steppedClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *steppedClock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// withClock makes the service use a clock.
func withClock(c *steppedClock) func(*sandbox.Options) {
	return func(o *sandbox.Options) { o.Now, o.TokenAge = c.now, 72*time.Hour }
}

// steps are the durations by which a clock is set: more than the accepted difference between two
// clocks, and a day.
var steps = []time.Duration{-24 * time.Hour, -8 * time.Minute, 0, 8 * time.Minute, 24 * time.Hour}

// liveBy returns dependencies whose client uses a clock.
func (w *world) liveBy(c *steppedClock) migrate.Deps {
	w.Helper()
	tokens := w.mint()
	tokens.Now = c.now
	w.client = w.clientOf(tokens, c.now)
	d := w.deps()
	d.Now = func() time.Time { return serverTime(w.client, c.now()) }
	return d
}

// serverTime returns the server's clock as the client estimates it.
func serverTime(client *assets.Client, ours time.Time) time.Time {
	skew, _ := client.Skew()
	return ours.Add(skew)
}

// clientOf returns a client for the engine that uses a clock, with tokens of its own.
func (w *world) clientOf(tokens *token.Minter, now func() time.Time) *assets.Client {
	w.Helper()
	client, err := assets.New(assets.Options{
		BaseURL: w.url, Tokens: tokens, Transport: w.gate, Now: now, CompensateClock: true,
		Retry: retry.Policy{Attempts: 3, First: time.Millisecond, Max: time.Millisecond},
	})
	must(w, err)
	return client
}

// TestClocksStepInMidRun verifies that an upload whose answer was lost is found, and not sent
// again, whichever clock is set during the run, in either direction, and whether or not it is
// corrected.
func TestClocksStepInMidRun(t *testing.T) {
	t.Parallel()
	const objects, setAt, rightAt = 24, 8, 16
	random := seedtest.Rand(t)
	for _, lose := range []string{"POST /assets drop=after nth=3", "POST /assets status=503 commit=after nth=2"} {
		for _, service := range steps {
			for _, ours := range steps {
				if service.Abs() != ours.Abs() && service != 0 && ours != 0 {
					continue
				}
				for _, back := range []bool{false, true} {
					if skipped(random) {
						continue
					}
					t.Run(fmt.Sprintf("%s/service %v/ours %v/set right %v", lose[13:], service, ours, back), func(t *testing.T) {
						t.Parallel()
						var theirs, mine steppedClock
						w := newWorld(t, faults(t, lose), withClock(&theirs))
						w.putMany(objects)
						d := w.liveBy(&mine)
						uploads := 0
						w.gate.on(func(_ int, r *http.Request) error {
							if r.Method == http.MethodPost && r.URL.Path == "/assets" {
								switch uploads++; {
								case uploads == setAt:
									theirs.set(service)
									mine.set(ours)
								case uploads == rightAt && back:
									theirs.set(0)
									mine.set(0)
								}
							}
							return nil
						})
						_, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 1 })
						must(t, err)
						theirs.set(0)
						w.wantOnce(objects)
					})
				}
			}
		}
	}
}

// wantOnce reports the objects of putMany that are not at the destination exactly once.
func (w *world) wantOnce(objects int) {
	w.Helper()
	count := map[string]int{}
	for _, a := range w.assetsAt() {
		count[a.Name]++
	}
	for n := range objects {
		if name := fmt.Sprintf("%03d.jpg", n); count[name] != 1 {
			w.Errorf("%s is there %d times", name, count[name])
		}
	}
	if len(count) != objects {
		w.Errorf("%d names are there, want %d", len(count), objects)
	}
}

// TestNodesOfDifferentTime verifies that a service whose two nodes have different clocks, and
// answer alternately, causes no duplicate.
func TestNodesOfDifferentTime(t *testing.T) {
	t.Parallel()
	const objects = 60
	for _, behind := range []time.Duration{8 * time.Minute, 24 * time.Hour} {
		var requests atomic.Int64
		nodes := func(o *sandbox.Options) {
			o.TokenAge = 72 * time.Hour
			o.Now = func() time.Time { return time.Now().Add(-time.Duration(requests.Load()/3%2) * behind) }
		}
		w := newWorld(t, faults(t, "POST /assets drop=after nth=5"), nodes)
		w.putMany(objects)
		w.tokens.Now, w.tokens.Life = func() time.Time { return time.Now().Add(-36 * time.Hour) }, 96*time.Hour // valid for both clocks
		d := w.deps()
		d.Now = func() time.Time { return serverTime(w.client, time.Now()) }
		w.gate.on(func(int, *http.Request) error { requests.Add(1); return nil })
		_, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
		must(t, err)
		w.wantOnce(objects)
		w.close()
	}
}

// TestClocksStepAroundAKill kills a process during an upload and sets the clocks before, between
// and after. It verifies that the next process, which does not know the former clocks, checks all
// recent assets.
func TestClocksStepAroundAKill(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t)
	for _, before := range steps {
		for _, after := range steps {
			for _, ours := range steps[1:4] {
				if skipped(random) {
					continue
				}
				t.Run(fmt.Sprintf("service %v then %v/ours %v", before, after, ours), func(t *testing.T) {
					t.Parallel()
					var theirs, mine steppedClock
					w := newWorld(t, withClock(&theirs))
					w.put("000.jpg", "0", "001.jpg", "1", "002.jpg", "2")
					w.tokens.Now = theirs.now // the clock of the service
					d := w.liveBy(&mine)
					alive := time.Now()
					run := w.dieBy(&theirs, before, "001.jpg")
					theirs.set(after)
					mine.set(ours)
					_, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) { a.FormerAlive = alive.Add(-time.Minute) })
					must(t, err)
					w.wantStates(run, map[string]int64{"create done": 3})
					theirs.set(0)
					w.wantOnce(3)
				})
			}
		}
	}
}

// dieBy is die for a service whose clock is set after the intents are recorded and before any
// upload is received.
func (w *world) dieBy(theirs *steppedClock, set time.Duration, arrived string) migrate.Plan {
	w.Helper()
	plan := w.die(migrate.DefaultRules())
	theirs.set(set)
	item := w.item(plan, arrived)
	if item.Attempts == 0 {
		w.Fatal(errors.New("nothing was being sent"))
	}
	w.upload(w.images, "", arrived, fmt.Sprint(int(arrived[2]-'0')))
	return plan
}

// TestLostUploadOlderThanItsIntent verifies that an asset is adopted even if, by the service's
// clock, it is older than the upload, and so may have existed before. A second upload could be a
// duplicate. Undo never trashes such an asset.
func TestLostUploadOlderThanItsIntent(t *testing.T) {
	t.Parallel()
	var theirs steppedClock
	w := newWorld(t, withClock(&theirs))
	w.put("000.jpg", "0", "001.jpg", "1", "002.jpg", "2")
	w.tokens.Now = theirs.now
	plan := w.dieBy(&theirs, -time.Hour, "001.jpg")
	theirs.set(0)
	w.migrate(migrate.DefaultRules())
	w.wantOnce(3)
	if i := w.item(plan, "001.jpg"); !strings.Contains(i.Error, "undo keeps it") {
		t.Errorf("the remark is %q", i.Error)
	}
	for key, adopted := range map[string]bool{"000.jpg": false, "001.jpg": true, "002.jpg": false} {
		if r, err := w.store.Receipt(t.Context(), w.pair.ID, sources.Key(key)); err != nil || r.Adopted != adopted {
			t.Errorf("%s: adopted %v, want %v (%v)", key, r.Adopted, adopted, err)
		}
	}
}

// TestLostUploadBesideAnother verifies that an object uploaded despite an asset of the same name,
// with --on-existing create, becomes exactly one asset of its own, even if its upload is lost and
// the clock is set back.
func TestLostUploadBesideAnother(t *testing.T) {
	t.Parallel()
	for _, set := range steps {
		var theirs, mine steppedClock
		w := newWorld(t, faults(t, "POST /assets drop=after nth=2"), withClock(&theirs)) // the second upload is our first
		w.put("a.jpg", "1")
		w.upload(w.images, "", "a.jpg", "2") // the same length, other content
		w.gate.on(atUpload(1, func() error { theirs.set(set); return nil }))
		r := migrate.DefaultRules()
		r.OnExisting = "create"
		_, err := w.tryWith(t.Context(), w.liveBy(&mine), r)
		must(t, err)
		theirs.set(0)
		w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("1")}, {"Images", "", "a.jpg", checksum("2")}})
		w.close()
	}
}

// A losing transport answers 503 to the first uploads, once for each; each has another length. The
// service does not receive them.
type losing struct {
	next http.RoundTripper
	most int
	mu   sync.Mutex
	lost map[int64]bool
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	loses := r.Method == http.MethodPost && r.URL.Path == "/assets" && len(l.lost) < l.most && !l.lost[r.ContentLength]
	if loses {
		l.lost[r.ContentLength] = true
	}
	l.mu.Unlock()
	if !loses {
		return l.next.RoundTrip(r)
	}
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Proto: "HTTP/1.1", Header: http.Header{}, Body: http.NoBody, Request: r},
		errors.Join(err, r.Body.Close())
}

// TestWholeContainersAreListedSeldom verifies that a large container is listed as a whole once for
// a group of lost uploads, and not for each of them.
func TestWholeContainersAreListedSeldom(t *testing.T) {
	t.Parallel()
	var theirs steppedClock
	const others, objects, lost = 300, 40, 15
	w := newWorld(t, withClock(&theirs))
	theirs.set(-time.Hour)
	w.tokens.Now = theirs.now
	for range others {
		w.upload(w.texts, "", "old.txt", "x")
	}
	theirs.set(0)
	for n := range objects {
		w.put(fmt.Sprintf("%03d.txt", n), strings.Repeat("y", n+1))
	}
	l := &losing{next: w.gate.next, most: lost, lost: map[int64]bool{}}
	w.gate.next = l
	var whole atomic.Int64
	w.gate.on(func(_ int, r *http.Request) error {
		if r.Method == http.MethodGet && r.URL.Path == "/assets" && r.URL.Query().Get("offset") == "250" { // only complete lists reach this offset
			whole.Add(1)
		}
		return nil
	})
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 1 })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": objects})
	if n := len(w.assetsAt()); n != others+objects || len(l.lost) != lost {
		t.Errorf("%d assets are there, and %d uploads were lost", n, len(l.lost))
	}
	// One for the plan, one for the first, one for each seven of the rest, and one at the end.
	if n := whole.Load(); n < 1 || n > 6 {
		t.Errorf("for %d lost uploads, all was listed %d times", lost, n)
	}
}

// TestOurClockSetBackHoldsNothingUp verifies that an item whose next attempt is later than any
// delay allows does not hold up a run for that long: our clock was set back after the item was
// scheduled.
func TestOurClockSetBackHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "a")
	var down atomic.Bool
	down.Store(true)
	w.gate.on(cutOff(&down))
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.RetryPauses, a.Wait = []time.Duration{25 * time.Hour}, time.Minute })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create retry_scheduled": 1})
	down.Store(false)
	_, err = w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.RetryPauses, a.Wait = []time.Duration{time.Hour}, time.Minute })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 1})
}

// TestOurClockSetForwardLeavesTimeToArrive verifies that an upload of a killed process gets the
// full confirmation timeout. If our clock was set forward since, the upload only seems old.
func TestOurClockSetForwardLeavesTimeToArrive(t *testing.T) {
	t.Parallel()
	const answer = 200 * time.Millisecond
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.die(migrate.DefaultRules())
	began := time.Now()
	var after time.Duration
	w.gate.on(atUpload(1, func() error { after = time.Since(began); return nil }))
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.ResponseTimeout, a.FormerAlive = answer, began.Add(-24*time.Hour) })
	must(t, err)
	if after < answer/2 {
		t.Errorf("sent again after %v", after)
	}
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}})
}
