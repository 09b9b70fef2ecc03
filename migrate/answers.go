package migrate

import (
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
)

// DefaultConcurrency is how many items are sent at once.
const DefaultConcurrency = 16

// DefaultAnswer is how long the service may still work on a request that it
// got completely and that nobody waits for any more.
const DefaultAnswer = assets.ResponseTimeout

// aliveSlack is how long after its last sign of life a process may still have
// sent something: a busy machine is late with the next one.
const aliveSlack = 10 * time.Second

// FormerEnd is until when a former process may have sent something that was last
// alive at a time; zero if that is not known. Whoever waits from then on is not held up
// should our clock be set meanwhile: the result counts by the clock that nobody sets.
func FormerEnd(alive time.Time) time.Time {
	now := clock.Now()
	if alive.IsZero() {
		return now
	}
	return now.Add(-max(0, now.Sub(alive.Add(aliveSlack))))
}

// Workers is how many it takes to keep so many turns in use: two for each where an object
// is opened as fast as it is sent, and some more because neither always takes as long. Each
// has at most one object open.
func Workers(turns int) int { return 5*turns/2 - 1 }

// handledPerSecond is how many bytes a second a service surely gets done with: it may
// copy and scan what it has got before it answers.
const handledPerSecond = 20 << 20

// Handling is how much longer a service may be at work on a large file.
func Handling(size int64) time.Duration {
	return time.Duration(size/handledPerSecond) * time.Second
}

// worthTelling is how long somebody may sit before a run that does not move.
const WorthTelling = 2 * time.Second
