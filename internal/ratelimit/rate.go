package ratelimit

import "time"

const (
	shortSpan = 200 * time.Millisecond // minimum span of a measurement with enough successes
	enough    = 20                     // successes in a short span
	longSpan  = 2 * time.Second        // minimum span of any other measurement
	remember  = 10 * time.Second       // age up to which a span counts
	below     = 0.92                   // part of the goodput that is the rate after a refusal
	farBelow  = 0.7                    // the same if the rate was not above the goodput
	surely    = 0.75                   // part of the goodput that is a safe rate
	growth    = 0.1                    // growth of the rate per second without a cut
	// boldGrowth replaces growth if at least this part is refused at any rate (anyway).
	boldGrowth = 0.5
	anyway     = 0.03
	// slowest is the lowest rate, whatever was measured: with few requests the goodput is low,
	// too.
	slowest  = float64(time.Second) / float64(maxPause)
	headroom = 4                      // highest rate, in multiples of the goodput, so that a cut has an effect soon
	catchUp  = 2 * time.Millisecond   // compensated delay of timers
	calm     = 250 * time.Millisecond // time after a cut until earlier requests have ended
	samples  = 200                    // number of samples after which earlier ones count half
	recheck  = 30 * time.Second       // time after which refusals at a safe rate are measured again

	// tolerance is the maximum share of refusals that is regarded as independent of the rate.
	tolerance = 0.2
)

// A rate limits the requests per second, once a service refuses some.
//
// The goodput between two refusals shows the limit of a service: its burst allowance is used up at
// both ends. The rate is set a little below the recent goodput and then grows slowly. Some services
// refuse a share of the requests at any rate. That share shows in refusals at a safe rate and is
// tolerated. It is measured again from time to time, because a service with a falling limit looks
// the same at first.
type rate struct {
	limit   float64   // requests per second; 0 means no limit
	next    time.Time // time of the next request
	updated time.Time // time up to which the limit has grown
	cut     time.Time // time of the last reduction

	since time.Time // start of the current span
	count float64   // successes in it
	spans []measured

	low, high share     // of refusals at a safe rate and above it
	lowUntil  time.Time // last response at a safe rate
}

// measured is a span with its successes.
type measured struct {
	count   float64
	seconds float64
	end     time.Time
}

// A share is the part of responses that are refusals.
type share struct{ refused, all float64 }

// of returns the share, or 0 with too few refusals to measure it.
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

// left returns how long the next request must wait.
func (r *rate) left(now time.Time) time.Duration {
	if r.limit == 0 {
		return 0
	}
	return r.next.Sub(now)
}

// begin counts a request, and compensates the delay of timers.
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

// refused records a refusal, which ends a span, and lowers the rate if that caused it.
func (r *rate) refused(now time.Time) {
	if r.since.IsZero() { // from here on, the burst allowance is known to be used up
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
	if r.limit > 0 && r.limit <= fine { // the safe rate was not safe, or the rate is not the cause
		to = farBelow
	}
	r.limit, r.cut, r.high = max(to*fine, r.limit/2, slowest), now, share{}
	r.updated = now.Add(2 * calm) // constant until then, to measure refusals at any rate
}

// observe counts a response as one at a safe rate or above it.
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

// isToBlame reports whether there are more refusals than at a safe rate.
func (r *rate) isToBlame() bool {
	usual := r.low.of()
	return usual == 0 || r.high.refused > 1+2*min(usual, tolerance)*r.high.all
}

// measure ends a span if it is long enough.
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

// used returns the recent goodput, or that of the current span if it is higher.
func (r *rate) used(now time.Time) float64 {
	return max(r.goodput(), r.count/max(now.Sub(r.since), shortSpan).Seconds())
}

// goodput returns the successes per second of recent spans, or 0 without a measurement.
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
