package migrate

import (
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
)

// DefaultConcurrency is how many items are sent at once, unless the user says otherwise.
const DefaultConcurrency = 16

// DefaultResponseTimeout is how long the service may still work on a request that it received
// completely, after the client stopped waiting for the response.
const DefaultResponseTimeout = assets.ResponseTimeout

// aliveSlack is how long after its last sign of life a process may still have
// sent something: a busy machine is late with the next one.
const aliveSlack = 10 * time.Second

// FormerProcessEnd returns until when a former process may have sent something, from its last sign
// of life; now, if that is zero because it is not known. The result has a monotonic reading, so
// that a wait from then on does not change when the clock is set meanwhile.
func FormerProcessEnd(alive time.Time) time.Time {
	now := clock.Now()
	if alive.IsZero() {
		return now
	}
	return now.Add(-max(0, now.Sub(alive.Add(aliveSlack))))
}

// Workers returns how many goroutines keep so many uploads going at once: two for each where an
// object is opened as fast as it is sent, and some more because neither always takes as long. Each
// has at most one object open.
func Workers(uploads int) int { return 5*uploads/2 - 1 }

// handledPerSecond is how many bytes a second a service surely gets done with: it may
// copy and scan what it has got before it answers.
const handledPerSecond = 20 << 20

// ProcessingTime returns how much longer the service may work on a file of that many bytes than on
// an empty one.
func ProcessingTime(size int64) time.Duration {
	return time.Duration(size/handledPerSecond) * time.Second
}

// MinReportedWait is how long a wait must be for an [Observer] to be reported it.
const MinReportedWait = 2 * time.Second
