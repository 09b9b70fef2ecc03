package migrate

import (
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
)

// DefaultConcurrency is the default number of concurrent uploads.
const DefaultConcurrency = 16

// DefaultResponseTimeout is how long the service may still work on a complete request after the
// client stopped waiting for the response.
const DefaultResponseTimeout = assets.ResponseTimeout

// aliveSlack is how long after its last sign of life a process may still have sent something: on a
// busy machine the next sign is late.
const aliveSlack = 10 * time.Second

// FormerProcessEnd returns the time until which a former process may have sent something, by its
// last sign of life; now, if that is unknown (zero). The result has a monotonic reading, so a wait
// until then does not change when the clock is set.
func FormerProcessEnd(alive time.Time) time.Time {
	now := clock.Now()
	if alive.IsZero() {
		return now
	}
	return now.Add(-max(0, now.Sub(alive.Add(aliveSlack))))
}

// Workers returns the number of goroutines for a number of concurrent uploads: two for each,
// because opening an object may take as long as its upload, and some more for fluctuations. Each
// has at most one object open.
func Workers(uploads int) int { return 5*uploads/2 - 1 }

// handledPerSecond is a safe lower limit of bytes per second that a service processes: it may copy
// and scan a file before it answers.
const handledPerSecond = 20 << 20

// ProcessingTime returns how much longer the service may work on a file of size bytes than on an
// empty one.
func ProcessingTime(size int64) time.Duration {
	return time.Duration(size/handledPerSecond) * time.Second
}

// MinReportedWait is the shortest wait that an [Observer] is informed about.
const MinReportedWait = 2 * time.Second
