package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/test/seedtest"
)

// A service refuses requests, depending on the time of their arrival.
type service interface{ refuses(now time.Time) bool }

// A bucket holds the tokens of one second and starts full.
type bucket struct {
	perSecond, tokens float64
	filled            time.Time
}

func (b *bucket) refuses(now time.Time) bool {
	if b.filled.IsZero() {
		b.tokens = b.perSecond
	} else {
		b.tokens = min(b.perSecond, b.tokens+now.Sub(b.filled).Seconds()*b.perSecond)
	}
	b.filled = now
	if b.tokens < 1 {
		return true
	}
	b.tokens--
	return false
}

// moody refuses a share of the requests, whatever their rate.
type moody struct {
	dice  *rand.Rand
	share float64
}

func (m *moody) refuses(time.Time) bool { return m.dice.Float64() < m.share }

type fine struct{}

func (fine) refuses(time.Time) bool { return false }

// A traffic is the result of a number of requests.
type traffic struct {
	calls, refused int
	took           time.Duration
}

func (f traffic) goodput() float64 { return float64(f.calls-f.refused) / f.took.Seconds() }
func (f traffic) share() float64   { return float64(f.refused) / float64(f.calls) }

// drive lets sixteen workers send requests of 2 ms until a number is accepted.
func drive(l *Limiter, s service, accepted int64) traffic {
	return driveAt(l, s, 2*time.Millisecond, accepted)
}

// driveAt lets sixteen workers send requests of a latency until a number is accepted. Their durations differ
// slightly, because simultaneous events have a random order, which would change the measured rate.
func driveAt(l *Limiter, s service, latency time.Duration, accepted int64) traffic {
	var mu sync.Mutex
	var left, calls, refused atomic.Int64
	left.Store(accepted)
	start := time.Now()
	var workers sync.WaitGroup
	for n := range 16 {
		own := time.Duration(n) * 1009 * time.Nanosecond
		workers.Go(func() {
			time.Sleep(own)
			for left.Add(-1) >= 0 {
				for {
					t, err := l.Begin(background)
					if err != nil {
						panic(err)
					}
					calls.Add(1)
					time.Sleep(latency/2 + own)
					mu.Lock()
					no := s.refuses(time.Now())
					mu.Unlock()
					time.Sleep(latency / 2)
					t.End(Outcome{Refused: no})
					if !no {
						break
					}
					refused.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return traffic{int(calls.Load()), int(refused.Load()), time.Since(start)}
}

// A service with a rate limit receives what it allows and refuses little.
func TestRateOfACountingService(t *testing.T) {
	for _, perSecond := range []float64{20, 50, 100, 400, 1000} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := drive(New(Options{Max: 16}), &bucket{perSecond: perSecond}, 2000)
				t.Logf("limit %v/s: %d requests, %.1f %% refused, goodput %.1f %% of the limit, took %v", perSecond, f.calls, 100*f.share(), 100*f.goodput()/perSecond, f.took)
				if f.goodput() < 0.85*perSecond {
					t.Errorf("limit %v/s: goodput %.1f/s", perSecond, f.goodput())
				}
				if f.share() > 0.05 {
					t.Errorf("limit %v/s: %.1f %% of the requests are refused", perSecond, 100*f.share())
				}
			})
		})
	}
}

// Refusals at any rate cost little more than themselves, also in the long run.
func TestRateOfAMoodyService(t *testing.T) {
	seed := seedtest.Seed(t)
	synctest.Test(t, func(t *testing.T) {
		for _, calls := range []int64{2000, 100_000} {
			well := drive(New(Options{Max: 16}), fine{}, calls)
			f := drive(New(Options{Max: 16}), &moody{rand.New(rand.NewPCG(seed, 0)), 0.1}, calls)
			pauses := time.Duration(f.refused) * 4 * firstPause
			const findingOut = 12 * time.Second // time to measure refusals at a low rate; mostly 2 s, but it is random
			t.Logf("%d requests, %.1f %% refused, took %v, without refusals %v", f.calls, 100*f.share(), f.took, well.took)
			if f.took > 8*well.took+pauses+findingOut {
				t.Errorf("took %v, without refusals %v", f.took, well.took)
			}
		}
	})
}

// A service that takes its time shows little in a second, and refusals are no more expensive there.
func TestRateOfASlowMoodyService(t *testing.T) {
	seed := seedtest.Seed(t)
	for _, latency := range []time.Duration{60 * time.Millisecond, 300 * time.Millisecond} {
		for share, most := range map[float64]float64{0.03: 8, 0.1: 8, 0.2: 12} {
			synctest.Test(t, func(t *testing.T) {
				well := driveAt(New(Options{Max: 16}), fine{}, latency, 5000)
				f := driveAt(New(Options{Max: 16}), &moody{rand.New(rand.NewPCG(seed, 0)), share}, latency, 5000)
				times := f.took.Seconds() / well.took.Seconds()
				t.Logf("latency %v, %.1f %% refused: took %v, %.1f times as long as without refusals", latency, 100*f.share(), f.took, times)
				if times > most {
					t.Errorf("latency %v, %.0f %% refused at random: %.1f times as long as without refusals, want at most %v", latency, 100*share, times, most)
				}
			})
		}
	}
}

// A service with a falling or new limit looks like one that refuses at random, but not for long.
func TestRateOfAServiceThatChanges(t *testing.T) {
	before := map[string]service{
		"counts more": &bucket{perSecond: 100},
		"is moody":    &moody{rand.New(rand.NewPCG(1, 2)), 0.1},
		"is fine":     fine{},
	}
	for name, was := range before {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const perSecond = 50
				l := New(Options{Max: 16})
				drive(l, was, 5000)
				now := &bucket{perSecond: perSecond}
				drive(l, now, int64(perSecond*(recheck+10*time.Second).Seconds()))
				f := drive(l, now, 2000)
				t.Logf("%d requests, %.1f %% refused, goodput %.1f/s", f.calls, 100*f.share(), f.goodput())
				if f.goodput() < 0.85*perSecond || f.share() > 0.05 {
					t.Errorf("%.1f %% of the requests are refused, goodput %.1f/s of %v/s", 100*f.share(), f.goodput(), perSecond)
				}
			})
		})
	}
}

// A rate that limits nothing stays close to the goodput.
func TestRateStaysNearWhatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 1})
		drive(l, &bucket{perSecond: 100}, 500)
		f := drive(l, fine{}, 100_000)
		if most := 2 * headroom * f.goodput(); l.rate.limit > most {
			t.Errorf("the rate is %v/s, want no more than %v/s", l.rate.limit, most)
		}
		if f.goodput() < 400 {
			t.Errorf("goodput %v/s: the service refuses nothing any more", f.goodput())
		}
	})
}

var background = context.Background()

// begin starts a number of requests at the same time, and returns the tickets of those that may begin.
func begin(t *testing.T, l *Limiter, n int) (tickets []Ticket) {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	got := make(chan Ticket, n)
	for range n {
		go func() {
			if ticket, err := l.Begin(ctx); err == nil {
				got <- ticket
			}
		}()
	}
	synctest.Wait()
	cancel()
	synctest.Wait()
	for range len(got) {
		tickets = append(tickets, <-got)
	}
	return tickets
}

func end(tickets []Ticket, o Outcome) {
	for _, t := range tickets {
		t.End(o)
	}
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 18})
		sizes := []int{}
		for range 6 {
			tickets := begin(t, l, 20)
			sizes = append(sizes, len(tickets))
			end(tickets, Outcome{})
		}
		if want := []int{4, 8, 16, 18, 18, 18}; !slices.Equal(sizes, want) {
			t.Errorf("requests at once, round by round: %v, want %v", sizes, want)
		}
		tickets := begin(t, l, 20)
		end(tickets, Outcome{Refused: true}) // all refusals of a round count once
		time.Sleep(time.Second)
		sizes = nil
		for range 4 {
			tickets := begin(t, l, 20)
			sizes = append(sizes, len(tickets))
			end(tickets, Outcome{})
		}
		if want := []int{9, 9, 10, 11}; !slices.Equal(sizes, want) {
			t.Errorf("requests at once after refusals, round by round: %v, want half of 18 and then %v", sizes, want)
		}
	})
}

// Refusals in a row make pauses longer, and a success makes them short again.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		l := New(Options{Max: 4, OnPause: func(p Pause) { pauses = append(pauses, p.Length) }})
		wait := func() time.Duration {
			start := time.Now()
			ticket, err := l.Begin(background)
			if err != nil {
				t.Fatal(err)
			}
			ticket.End(Outcome{Refused: true})
			return time.Since(start)
		}
		var waits []time.Duration
		for range 12 {
			waits = append(waits, wait())
		}
		for n, want := range []time.Duration{0, startPause, 2 * startPause, 4 * startPause} {
			if waits[n] != want {
				t.Errorf("wait %d: %v, want %v", n, waits[n], want)
			}
		}
		if waits[11] != maxPause || len(pauses) != 12 {
			t.Errorf("the last wait is %v, %d pauses", waits[11], len(pauses))
		}
		ticket, err := l.Begin(background)
		if err != nil {
			t.Fatal(err)
		}
		ticket.End(Outcome{})
		if w := wait(); w != 0 {
			t.Errorf("after a good answer: %v", w)
		}
		if w := wait(); w > startPause {
			t.Errorf("and then: %v", w)
		}
	})
}

// All requests wait for the time that one response asks for. Responses to earlier requests do not extend
// it.
func TestRetryAfterIsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 16})
		tickets := begin(t, l, 4)
		tickets[0].End(Outcome{Refused: true, RetryAfter: 30 * time.Second})
		for _, ticket := range tickets[1:] {
			ticket.End(Outcome{Refused: true})
		}
		start := time.Now()
		if _, err := l.Begin(background); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("waited %v, want 30s", took)
		}
	})
}

// Throttled time counts once, however many requests wait. Other waits do not count.
func TestThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 2, Start: 2})
		tickets := begin(t, l, 2)
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				ticket, err := l.Begin(background)
				if err != nil {
					t.Error(err)
				}
				ticket.End(Outcome{})
			})
		}
		time.Sleep(time.Minute) // for others to end
		tickets[0].End(Outcome{Refused: true, RetryAfter: 30 * time.Second})
		tickets[1].End(Outcome{Refused: true, RetryAfter: 20 * time.Second})
		waiting.Wait()
		if got := l.Throttling(); got.Refused != 2 || got.Held < 30*time.Second || got.Held > 31*time.Second {
			t.Errorf("got %+v, want 2 refusals and 30s", got)
		}

		held := l.Throttling().Held
		begin(t, l, 1)[0].End(Outcome{Refused: true, RetryAfter: time.Hour})
		time.Sleep(time.Minute)
		if got := l.Throttling().Held - held; got != time.Minute {
			t.Errorf("after a minute: held %v more", got)
		}
		time.Sleep(2 * time.Hour)
		if got := l.Throttling().Held - held; got != time.Hour {
			t.Errorf("after two hours: held %v more, want what was asked for", got)
		}
	})
}

// A service that no longer responds receives few requests.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 4})
		start := time.Now()
		for range 20 {
			ticket, err := l.Begin(background)
			if err != nil {
				t.Fatal(err)
			}
			ticket.End(Outcome{Silent: true})
		}
		if took := time.Since(start); took < 30*time.Second || took > 2*time.Minute {
			t.Errorf("twenty in a row took %v", took)
		}
	})
}

// A request that this process ends is not a success: it does not end a series of refusals and does not
// count as goodput.
func TestUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		l := New(Options{Max: 1, OnPause: func(p Pause) { pauses = append(pauses, p.Length) }})
		for range 4 {
			for _, o := range []Outcome{{Refused: true}, {Unknown: true}} {
				end(one(t, l), o)
			}
		}
		if want := []time.Duration{startPause, 2 * startPause, 4 * startPause, 8 * startPause}; !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
		if l.rate.count != 0 || l.busy != 0 {
			t.Errorf("%v counted as good, %d still busy", l.rate.count, l.busy)
		}
	})
}

// one returns when one request may begin.
func one(t *testing.T, l *Limiter) []Ticket {
	t.Helper()
	ticket, err := l.Begin(background)
	if err != nil {
		t.Fatal(err)
	}
	return []Ticket{ticket}
}

// Requests that began before a pause do not extend it.
func TestPauseIsForARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		l := New(Options{Max: 8, Start: 8, OnPause: func(p Pause) { pauses = append(pauses, p.Length) }})
		tickets := begin(t, l, 8)
		end(tickets[:3], Outcome{Refused: true})
		end(tickets[3:4], Outcome{})
		end(tickets[4:], Outcome{Refused: true})
		if want := []time.Duration{startPause}; !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
	})
}

// The longest wait is next, also before new requests that find a free slot.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 1})
		first := one(t, l)
		var order []int
		for n := range 10 {
			go func() {
				ticket, err := l.Begin(background)
				if err != nil {
					t.Error(err)
				}
				order = append(order, n)
				ticket.End(Outcome{})
			}()
			synctest.Wait()
		}
		end(first, Outcome{})
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 16, Start: 16})
		answers := func(latency time.Duration, n int) int {
			for range n {
				end(begin(t, l, 16), Outcome{Latency: latency})
				time.Sleep(latency)
			}
			return len(begin(t, l, 16))
		}
		end(begin(t, l, 1), Outcome{Latency: 100 * time.Millisecond})
		l.busy = 0
		if n := answers(300*time.Millisecond, 5); n != 16 {
			t.Errorf("a little slower: %d at once", n)
		}
		l.busy = 0
		if n := answers(3*time.Second, 4); n > 12 {
			t.Errorf("much slower: %d at once", n)
		}
		l.busy = 0
		if n := answers(3*time.Second, 60); n != 16 {
			t.Errorf("slower for good: %d at once", n)
		}
	})
}

func TestDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Max: 1})
		stop := make(chan struct{})
		ctx := retry.WithDrain(background, stop)
		if _, err := l.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 2)
		for range 2 { // the next request and one behind it
			go func() { _, err := l.Begin(ctx); errs <- err }()
		}
		synctest.Wait()
		close(stop)
		for range 2 {
			if err := <-errs; !errors.Is(err, retry.ErrDraining) {
				t.Errorf("got %v, want ErrDraining", err)
			}
		}
		cause := errors.New("second signal")
		aborted, abort := context.WithCancelCause(retry.WithDrain(ctx, nil))
		go func() { _, err := l.Begin(aborted); errs <- err }()
		synctest.Wait()
		abort(cause)
		if err := <-errs; !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, cause)
		}
	})
}

func TestNoLimiter(t *testing.T) {
	ticket, err := (*Limiter)(nil).Begin(background)
	if err != nil {
		t.Fatal(err)
	}
	ticket.End(Outcome{Refused: true})
}

func BenchmarkBeginEnd(b *testing.B) {
	used := map[int64]int64{}
	for minute := range int64(24 * 60) {
		used[time.Now().Unix()/60-minute] = 1
	}
	requests := NewRequests(RequestLimit{math.MaxInt32, 24 * time.Hour}, time.Now)
	requests.Load(used)
	run := func(name string, workers int, o Options) {
		b.Run(name, func(b *testing.B) {
			l := New(o)
			b.SetParallelism(max(1, workers/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if t, err := l.Begin(background); err == nil {
						t.End(Outcome{Latency: time.Millisecond})
					}
				}
			})
		})
	}
	run("few", 1, Options{Max: 64})
	run("many", 16, Options{Max: 64})
	run("request limit", 16, Options{Max: 64, Requests: requests})
}

// Rare refusals with few requests between them say little about the rate limit of the service.
func TestQuietTimesAreNoLimit(t *testing.T) {
	for name, quiet := range map[string]time.Duration{"idle": 2 * time.Hour, "large files": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(Options{Max: 16})
				ask := func(refused bool, took time.Duration) (waited time.Duration) {
					start := time.Now()
					ticket, err := l.Begin(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					waited = time.Since(start)
					time.Sleep(took)
					ticket.End(Outcome{Refused: refused})
					return waited
				}
				ask(true, time.Second)
				for range 3 {
					ask(false, quiet)
				}
				ask(true, time.Second)
				for n := range 8 {
					if waited := ask(false, 100*time.Millisecond); waited > maxPause {
						t.Errorf("request %d waits %v", n, waited)
					}
				}
			})
		})
	}
}
