package sandbox

import (
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"assetferry/internal/sandbox/profile"
)

// delays are the durations of requests at the service of a profile.
type delays struct {
	small, upload scatter
	one, all      float64 // bytes per second of one upload, and of all together; 0: no limit

	mu   sync.Mutex
	idle time.Time // when the uploads so far are complete
}

// newDelays returns the delays of a profile. A latency of the options replaces that of the profile.
func newDelays(latency time.Duration, p profile.Profile) *delays {
	d := &delays{one: float64(p.UploadBandwidth), all: float64(p.UploadBandwidthTotal)}
	d.small = scatter{p.Latency, p.LatencyP95}
	if latency > 0 {
		d.small = scatter{latency, 0}
	}
	d.upload = scatter{max(d.small.median, p.UploadLatency), max(d.small.p95, p.UploadLatencyP95)}
	return d
}

// of returns the delay of a call. It includes the transfer of an upload.
func (d *delays) of(c *call) time.Duration {
	if c.route.pattern != "/assets" && c.route.pattern != "/assets/{id}" || c.R.Method != http.MethodPost {
		return d.small.next()
	}
	return d.upload.next() + d.transfer(max(0, c.R.ContentLength), time.Now())
}

// transfer returns the duration of an upload that begins now. Uploads share the total bandwidth.
func (d *delays) transfer(bytes int64, now time.Time) time.Duration {
	var alone time.Duration
	if d.one > 0 {
		alone = seconds(float64(bytes) / d.one)
	}
	if d.all == 0 {
		return alone
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle.Before(now) {
		d.idle = now
	}
	d.idle = d.idle.Add(seconds(float64(bytes) / d.all))
	return max(alone, d.idle.Sub(now))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A scatter is a distribution of durations by its median and 95th percentile. Latencies are about
// log-normal: a guess.
type scatter struct{ median, p95 time.Duration }

const (
	quantile95 = 1.645 // of the standard normal distribution
	extreme    = 4     // standard deviations, beyond which no duration is
)

// next returns a random duration.
func (s scatter) next() time.Duration {
	if s.median <= 0 || s.p95 <= s.median {
		return s.median
	}
	sigma := math.Log(float64(s.p95)/float64(s.median)) / quantile95
	return time.Duration(float64(s.median) * math.Exp(sigma*max(-extreme, min(extreme, rand.NormFloat64()))))
}
