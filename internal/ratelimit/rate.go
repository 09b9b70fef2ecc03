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
	calm     = 500 * time.Millisecond // minimum time between two cuts
	recheck  = 30 * time.Second       // minimum time between two trials
	seldom   = 8                      // the same, in multiples of the last trial
	// A trial ends with someRefusals, with fewer in at least fewest responses where expected ones were
	// likely, or after longest.
	someRefusals = 3
	expected     = 9
	fewest       = 40
	longest      = 10 * time.Second

	// tolerance is the maximum share of refusals that is regarded as independent of the rate.
	tolerance = 0.2
)

// A rate limits the requests per second, once a service refuses some.
//
// The goodput between two refusals shows the limit of a service: its burst allowance is used up at
// both ends. The rate is set a little below the recent goodput and then grows slowly. Some services
// refuse a share of the requests at any rate. That share shows in a trial at a safe rate and is
// tolerated. Trials are repeated, because a service with a falling limit looks the same at first.
type rate struct {
	limit   float64   // requests per second; 0 means no limit
	next    time.Time // time of the next request
	updated time.Time // time up to which the limit has grown
	cut     time.Time // time of the last reduction
	cutAt   int64     // requests begun before it: their responses say nothing about it

	since time.Time // start of the current span
	count float64   // successes in it
	spans []measured

	high  share // of refusals since the last cut
	trial trial
}

// A trial is a time at a safe rate.
type trial struct {
	share
	before share   // since the last one
	rate   float64 // the safe rate of this one or, without one, of the last
	back   float64 // the rate before it; 0 if there is none
	begun  time.Time
	due    time.Time // earliest start of the next one
	usual  float64   // share of refusals in the last one; 0 if there were few
}

// measured is a span with its successes.
type measured struct {
	count   float64
	seconds float64
	end     time.Time
}

// A share is the part of responses that are refusals.
type share struct{ refused, all float64 }

func (s *share) add(refused float64) {
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
	switch {
	case r.trial.back > 0:
		up = 0
	case r.trial.usual > anyway:
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

// good records a success of a request by its number.
func (r *rate) good(number int64, now time.Time) {
	if r.since.IsZero() {
		return
	}
	r.count++
	r.observe(number, now, 0)
}

// refused records a refusal, which ends a span, and lowers the rate if that caused it.
func (r *rate) refused(number, begun int64, now time.Time) {
	if r.since.IsZero() { // from here on, the burst allowance is known to be used up
		r.since = now
		return
	}
	r.observe(number, now, 1)
	r.measure(now)
	fine := r.goodput()
	if fine == 0 || r.trial.back > 0 || number <= r.cutAt || r.limit > 0 && (now.Sub(r.cut) < calm || !r.isToBlame()) {
		return
	}
	to := below
	if r.limit > 0 && r.limit <= fine { // the rate is not the cause
		to = farBelow
	}
	r.set(max(to*fine, r.limit/2, slowest), begun, now)
	if now.After(r.trial.due) || r.limit < farBelow*r.trial.rate {
		r.try(max(min(r.limit, surely*fine), slowest), now)
	}
}

// set changes the rate.
func (r *rate) set(limit float64, begun int64, now time.Time) {
	r.limit, r.updated, r.cut, r.cutAt, r.high = limit, now.Add(calm), now, begun, share{}
}

// try starts a trial.
func (r *rate) try(limit float64, now time.Time) {
	r.trial.share, r.trial.rate, r.trial.back, r.trial.begun = share{}, limit, r.limit, now
	r.limit = limit
}

// observe counts a response to a request that began after the last cut.
func (r *rate) observe(number int64, now time.Time, refused float64) {
	if number <= r.cutAt {
		return
	}
	t := &r.trial
	if t.back == 0 {
		r.high.add(refused)
		t.before.add(refused)
		return
	}
	if now.Sub(t.begun) < calm {
		return
	}
	if t.add(refused); !t.isOver(now) {
		return
	}
	t.usual = t.independent()
	t.due = now.Add(max(recheck, seldom*min(now.Sub(t.begun), longest)))
	r.limit, r.updated, r.high, t.before, t.back = t.back, now, share{}, share{}, 0
}

// isOver reports whether the trial shows if refusals depend on the rate.
func (t *trial) isOver(now time.Time) bool {
	if t.refused >= someRefusals {
		return true
	}
	return t.all >= fewest && t.all*t.before.refused >= expected*t.before.all || now.Sub(t.begun) > longest
}

// independent returns the share of refusals that do not depend on the rate.
func (t *trial) independent() float64 {
	if t.refused < someRefusals {
		return 0
	}
	return min(t.refused/t.all, tolerance)
}

// isToBlame reports whether there are more refusals than at a safe rate.
func (r *rate) isToBlame() bool {
	return r.trial.usual == 0 || r.high.refused > 1+2*r.trial.usual*r.high.all
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
