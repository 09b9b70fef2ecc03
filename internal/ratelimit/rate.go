package ratelimit

import "time"

const (
	shortSpan = 200 * time.Millisecond // is long enough to measure if there were
	enough    = 20                     // good answers in it
	longSpan  = 2 * time.Second        // is long enough in any case
	remember  = 10 * time.Second       // so long a span counts
	below     = 0.92                   // of the goodput is where the rate goes after a refusal,
	farBelow  = 0.7                    // and there if it was not above the goodput then
	surely    = 0.75                   // of the goodput is a rate that is fine
	growth    = 0.1                    // of the rate in a second without a cut
	// boldGrowth is where that share of requests is refused anyway.
	boldGrowth = 0.5
	anyway     = 0.03
	// slowest is the lowest rate, whatever was measured: in a while with little to
	// ask for there is little goodput, too.
	slowest  = float64(time.Second) / float64(maxPause)
	headroom = 4                      // times the goodput is the highest rate: a cut has to be felt soon
	catchUp  = 2 * time.Millisecond   // of what timers are late
	calm     = 250 * time.Millisecond // after a cut, until what was under way has ended
	samples  = 200                    // after which what was counted counts half
	recheck  = 30 * time.Second       // after which what was refused anyway is found out anew

	// tolerance is the most share of refusals that is taken to have nothing to do
	// with the rate.
	tolerance = 0.2
)

// A rate bounds the requests a second, once a service refuses some.
//
// The limit of a service shows in the goodput between two refusals: whatever it
// saves up is used up at both ends. So the goodput of such spans is measured, and
// the rate goes a little below that of late, and up again slowly. There are also
// services that refuse now and then whatever the rate is; these show in refusals
// at a rate that was fine before, and that many are tolerated. That is found out
// again and again: a service whose limit falls looks the same at first.
type rate struct {
	limit   float64   // requests a second; 0 is no limit
	next    time.Time // when the next request may begin
	updated time.Time // until when the limit has grown
	cut     time.Time // the limit was lowered

	since time.Time // the span that is measured began
	count float64   // good answers in it
	spans []measured

	low, high share     // of refusals at a rate known to be fine, and above it
	lowUntil  time.Time // the last answer at such a rate
}

// A measured span.
type measured struct {
	count   float64
	seconds float64
	end     time.Time
}

// A share of refusals among answers.
type share struct{ refused, all float64 }

// of is the share, 0 if there were too few refusals to tell.
func (s *share) of() float64 {
	if s.refused < 3 {
		return 0
	}
	return s.refused / s.all
}

func (s *share) add(refused float64) {
	if s.all >= samples {
		s.refused, s.all = s.refused/2, s.all/2
	}
	s.refused += refused
	s.all++
}

// left is how long the next request has to wait.
func (r *rate) left(now time.Time) time.Duration {
	if r.limit == 0 {
		return 0
	}
	return r.next.Sub(now)
}

// begin takes a request's share of the rate. What timers lose is caught up.
func (r *rate) begin(now time.Time) {
	if r.limit == 0 {
		return
	}
	up := growth
	if r.low.of() > anyway {
		up = boldGrowth
	}
	if grown := now.Sub(r.updated); grown > 0 {
		r.limit = max(r.limit, min(r.limit*(1+up*grown.Seconds()), headroom*r.used(now)))
		r.updated = now
	}
	if earliest := now.Add(-catchUp); r.next.Before(earliest) {
		r.next = earliest
	}
	r.next = r.next.Add(time.Duration(float64(time.Second) / r.limit))
}

func (r *rate) good(now time.Time) {
	if r.since.IsZero() {
		return
	}
	r.count++
	r.observe(now, 0)
}

// refused takes note of a refusal, which ends a span, and lowers the rate if it is
// to blame.
func (r *rate) refused(now time.Time) {
	if r.since.IsZero() { // only from here on it is known that nothing is saved up
		r.since = now
		return
	}
	r.observe(now, 1)
	r.measure(now)
	if now.Sub(r.lowUntil) > recheck {
		r.low = share{}
	}
	fine := r.goodput()
	if fine == 0 || r.limit > 0 && (now.Sub(r.cut) < 2*calm || !r.isToBlame()) {
		return
	}
	to := below
	if r.limit > 0 && r.limit <= fine { // what was taken for fine is not, or the rate is not to blame
		to = farBelow
	}
	r.limit, r.cut, r.high = max(to*fine, r.limit/2, slowest), now, share{}
	r.updated = now.Add(2 * calm) // so long it stays, to see what is refused anyway
}

// observe counts an answer where it belongs.
func (r *rate) observe(now time.Time, refused float64) {
	switch {
	case r.limit > 0 && now.Sub(r.cut) < calm:
	case r.limit > 0 && r.limit <= surely*r.goodput():
		r.low.add(refused)
		r.lowUntil = now
	default:
		r.high.add(refused)
	}
}

// isToBlame reports whether there are more refusals than at a rate that is fine.
func (r *rate) isToBlame() bool {
	usual := r.low.of()
	return usual == 0 || r.high.refused > 1+2*min(usual, tolerance)*r.high.all
}

// measure ends a span, if it was long enough.
func (r *rate) measure(now time.Time) {
	took := now.Sub(r.since)
	if took < longSpan && (took < shortSpan || r.count < enough) {
		return
	}
	r.spans = append(r.spans, measured{r.count, took.Seconds(), now})
	r.since, r.count = now, 0
	for len(r.spans) > 1 && now.Sub(r.spans[0].end) > remember {
		r.spans = r.spans[1:]
	}
}

// used is the goodput of late, or that of the span under way if it is higher.
func (r *rate) used(now time.Time) float64 {
	return max(r.goodput(), r.count/max(now.Sub(r.since), shortSpan).Seconds())
}

// goodput is that of the spans of late; 0 if nothing was measured.
func (r *rate) goodput() float64 {
	var count, seconds float64
	for _, s := range r.spans {
		count, seconds = count+s.count, seconds+s.seconds
	}
	if seconds == 0 {
		return 0
	}
	return count / seconds
}
