package ratelimit

import "time"

const (
	firstPause = 5 * time.Millisecond  // one refusal says little, so the wait is short
	startPause = 25 * time.Millisecond // while the rate is unknown
	maxPause   = 5 * time.Second       // unless the service asks for more
	quietAfter = 3                     // requests in a row without a response: the service is down, not the network
)

// A pause makes all requests wait.
type pause struct {
	until   time.Time
	first   time.Duration // first length in a series
	length  time.Duration // last length in a series
	begunAt int64         // requests begun before it: their responses belong to it
	silence int           // requests in a row without a response
}

func (p *pause) left(now time.Time) time.Duration { return p.until.Sub(now) }

// refused starts a pause after a refusal: for the time that the service asks for, or longer with
// each refusal in a row. It returns the length of a new pause.
func (p *pause) refused(number, begun int64, now time.Time, asked time.Duration) time.Duration {
	if asked > 0 {
		return p.extend(begun, now, asked)
	}
	return p.again(number, begun, now)
}

// silent starts a pause after several requests in a row without a response.
func (p *pause) silent(number, begun int64, now time.Time) time.Duration {
	if p.silence++; p.silence < quietAfter {
		return 0
	}
	return p.again(number, begun, now)
}

// again starts a pause of twice the last length, unless the request began before the last pause.
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

// over records a success: the next pause is short again.
func (p *pause) over() { p.length, p.silence = 0, 0 }
