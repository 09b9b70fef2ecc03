package ratelimit

import "time"

const (
	firstPause = 5 * time.Millisecond  // one refusal says little, so little time is spent on it
	startPause = 25 * time.Millisecond // as long as nothing is known of the rate
	maxPause   = 5 * time.Second       // if the service does not ask for more
	quietAfter = 3                     // requests in a row without an answer: the service, not the network, is gone
)

// A pause makes all requests wait.
type pause struct {
	until   time.Time
	first   time.Duration // of a row of them
	length  time.Duration // of the last one, in a row of them
	begunAt int64         // requests begun when it began: their answers belong to it
	silence int           // requests in a row without an answer
}

func (p *pause) left(now time.Time) time.Duration { return p.until.Sub(now) }

// refused pauses because of a refusal: as long as the service asks, or longer each
// time there is nothing but refusals. It gives the length of a new pause.
func (p *pause) refused(number, begun int64, now time.Time, asked time.Duration) time.Duration {
	if asked > 0 {
		return p.extend(begun, now, asked)
	}
	return p.again(number, begun, now)
}

// silent pauses once several requests in a row had no answer.
func (p *pause) silent(number, begun int64, now time.Time) time.Duration {
	if p.silence++; p.silence < quietAfter {
		return 0
	}
	return p.again(number, begun, now)
}

// again pauses for twice as long as the last time, unless the request was under way
// then.
func (p *pause) again(number, begun int64, now time.Time) time.Duration {
	if number <= p.begunAt {
		return 0
	}
	p.length = min(max(2*p.length, p.first), maxPause)
	return p.extend(begun, now, p.length)
}

func (p *pause) extend(begun int64, now time.Time, length time.Duration) time.Duration {
	p.begunAt = begun
	if until := now.Add(length); until.After(p.until) {
		p.until = until
		return length
	}
	return 0
}

// over notes a good answer: the next pause is a short one again.
func (p *pause) over() { p.length, p.silence = 0, 0 }
