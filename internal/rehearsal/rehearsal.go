// Package rehearsal predicts a run at a service whose behaviour was measured. It simulates the
// requests of the run in virtual time, with the rate limiter of real runs. So the migration of a
// weekend takes seconds.
package rehearsal

import (
	"container/heap"
	"iter"
	"math/rand/v2"
	"time"

	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
)

// An Item is an object of the plan.
type Item struct {
	Size   int64 // bytes to upload; -1 means no upload
	Before int   // small requests before the upload, such as those for its folder
	After  int   // small requests after the upload, such as those for its metadata
	Failed bool  // the service refuses the upload; nothing follows
}

// A Result is the simulated result of a run.
type Result struct {
	Took      time.Duration
	Requests  int64 // including refused ones
	Throttled int64 // requests that were refused for their rate
	Items     int64 // completed
	Failed    int64
	Bytes     int64 // of completed items
}

// A Run is how a run works.
type Run struct {
	Workers int // uploads at the same time, at least 1
	// OwnTime is the time of this program for an item, which all workers share: mostly for the state
	// database.
	OwnTime time.Duration
	Seed    uint64 // of the scatter
}

const (
	// attempts is the maximum number of attempts in a row of a request that is refused for its rate.
	attempts = 5
	// later is the time after which a refused item is tried again.
	later = time.Minute
)

// Simulate returns the result of a run that carries out the items in their order.
func Simulate(s Service, r Run, items iter.Seq2[Item, error]) (Result, error) {
	next, stop := iter.Pull2(items)
	defer stop()
	m := &simulation{
		service: newResponder(s, r.Seed), ownTime: r.OwnTime, random: rand.New(rand.NewPCG(r.Seed, 2)), next: next,
		limiter: ratelimit.NewSimulated(ratelimit.Options{Max: max(1, r.Workers)}),
	}
	for range max(1, r.Workers) {
		m.take(&worker{})
	}
	for m.err == nil && m.events.Len() > 0 {
		e := heap.Pop(&m.events).(event)
		m.now = e.at
		if e.worker != nil {
			m.step(e.worker)
		}
		m.admitWaiting()
	}
	m.result.Took, m.result.Throttled = m.last, m.limiter.Throttling().Refused
	return m.result, m.err
}

// A simulation is a run in progress.
type simulation struct {
	service *responder
	random  *rand.Rand // of waits
	limiter ratelimit.Simulated
	ownTime time.Duration
	next    func() (Item, error, bool)

	now     time.Duration // since the start
	last    time.Duration // when the last item was completed
	free    time.Duration // when this program can take the next item
	events  events
	waiting []*worker     // for the limiter, in order
	woken   time.Duration // the next attempt to let one begin; 0: none is planned

	result Result
	err    error
}

// A worker carries out one item after the other.
type worker struct {
	item    Item
	done    int // requests of the item that are complete
	attempt int // of the current request

	sending bool
	number  int64 // of the request
	outcome ratelimit.Outcome
}

// take gives the next item to a worker, which ends after the last one.
func (m *simulation) take(w *worker) {
	item, err, ok := m.next()
	if err != nil {
		m.err = err
		return
	}
	if !ok {
		return
	}
	*w = worker{item: item}
	m.free = max(m.free, m.now) + m.ownTime
	m.events.add(m.free, w)
}

// step is called when a worker has waited, or when its request has ended.
func (m *simulation) step(w *worker) {
	if !w.sending {
		m.waiting = append(m.waiting, w)
		return
	}
	w.sending = false
	m.limiter.End(w.number, w.outcome, at(m.now))
	if w.outcome.Refused {
		m.again(w)
		return
	}
	uploaded := w.done == w.item.Before && w.item.Size >= 0
	w.done, w.attempt = w.done+1, 0
	if uploaded && w.item.Failed {
		m.result.Failed++
		m.finish(w)
		return
	}
	if w.done < w.item.requests() {
		m.waiting = append(m.waiting, w)
		return
	}
	m.result.Items++
	m.result.Bytes += max(0, w.item.Size)
	m.finish(w)
}

func (i Item) requests() int {
	n := i.Before + i.After
	if i.Size >= 0 {
		n++
	}
	return n
}

func (m *simulation) finish(w *worker) {
	m.last = m.now
	m.take(w)
}

// again repeats a refused request, after the wait of the client.
func (m *simulation) again(w *worker) {
	w.attempt++
	wait := later
	if w.attempt%attempts != 0 {
		wait = min(retry.MaxFirst<<(w.attempt%attempts-1), 5*time.Second)
		wait = time.Duration(m.random.Int64N(int64(wait)))
		if asked := m.service.RetryAfter; asked > 0 {
			wait = asked + time.Duration(m.random.Int64N(int64(retry.MaxFirst)))
		}
	}
	m.events.add(m.now+wait, w)
}

// admitWaiting lets requests begin as long as the limiter permits it.
func (m *simulation) admitWaiting() {
	if m.woken > 0 && m.now >= m.woken {
		m.woken = 0
	}
	for len(m.waiting) > 0 {
		number, wait, woken := m.limiter.Begin(at(m.now))
		if wait > 0 {
			if !woken && (m.woken == 0 || m.now+wait < m.woken) {
				m.woken = m.now + wait
				m.events.add(m.woken, nil)
			}
			return
		}
		w := m.waiting[0]
		m.waiting = m.waiting[1:]
		m.send(w, number)
	}
}

func (m *simulation) send(w *worker, number int64) {
	bytes := int64(-1)
	if w.done == w.item.Before && w.item.Size >= 0 {
		bytes = w.item.Size
	}
	latency, transfer, refused := m.service.request(m.now, bytes)
	m.result.Requests++
	w.sending, w.number = true, number
	w.outcome = ratelimit.Outcome{Latency: latency}
	if refused {
		w.outcome = ratelimit.Outcome{Refused: true, RetryAfter: m.service.RetryAfter}
	}
	m.events.add(m.now+latency+transfer, w)
}

// at returns a time for the limiter, for which the zero time has a meaning.
func at(since time.Duration) time.Time { return time.Unix(1, 0).Add(since) }

// An event is the end of a wait or a request of a worker, or, without one, the time to ask the
// limiter again.
type event struct {
	at     time.Duration
	number int64 // events of one time happen in their order
	worker *worker
}

type events struct {
	all  []event
	made int64
}

func (e *events) add(at time.Duration, w *worker) {
	e.made++
	heap.Push(e, event{at, e.made, w})
}

func (e *events) Len() int { return len(e.all) }
func (e *events) Less(i, j int) bool {
	a, b := e.all[i], e.all[j]
	return a.at < b.at || a.at == b.at && a.number < b.number
}
func (e *events) Swap(i, j int) { e.all[i], e.all[j] = e.all[j], e.all[i] }
func (e *events) Push(x any)    { e.all = append(e.all, x.(event)) }
func (e *events) Pop() any {
	last := e.all[len(e.all)-1]
	e.all = e.all[:len(e.all)-1]
	return last
}
