package rehearsal

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Service is the measured behaviour of a service. Zero values mean no limit.
type Service struct {
	Latency, LatencyP95             time.Duration // of small requests: median and 95th percentile
	UploadLatency, UploadLatencyP95 time.Duration // of small uploads
	UploadBandwidth                 int64         // bytes per second of one upload
	UploadBandwidthTotal            int64         // of all uploads together
	Rate                            int           // requests per second; others are refused
	RetryAfter                      time.Duration // of the refusals
}

// quantile95 is the 95th percentile of the standard normal distribution.
const quantile95 = 1.645

// sigma returns the standard deviation of the logarithm of a latency.
func sigma(median, p95 time.Duration) float64 {
	if median <= 0 || p95 <= median {
		return 0
	}
	return math.Log(float64(p95)/float64(median)) / quantile95
}

// scaled returns the service with all latencies multiplied by a factor, and all bandwidths divided by
// another one.
func (s Service) scaled(latency, bandwidth float64) Service {
	for _, d := range []*time.Duration{&s.Latency, &s.LatencyP95, &s.UploadLatency, &s.UploadLatencyP95} {
		*d = time.Duration(float64(*d) * latency)
	}
	for _, b := range []*int64{&s.UploadBandwidth, &s.UploadBandwidthTotal} {
		*b = int64(math.Ceil(float64(*b) / bandwidth))
	}
	return s
}

// A responder responds to requests as a service would.
type responder struct {
	Service
	random        *rand.Rand
	small, upload float64 // sigma of the latencies

	idle   time.Duration // when all uploads so far are complete
	tokens float64       // requests that may begin now
	filled time.Duration
}

func newResponder(s Service, seed uint64) *responder {
	s.UploadLatency, s.UploadLatencyP95 = max(s.Latency, s.UploadLatency), max(s.LatencyP95, s.UploadLatencyP95)
	return &responder{
		Service: s, random: rand.New(rand.NewPCG(seed, 1)),
		small: sigma(s.Latency, s.LatencyP95), upload: sigma(s.UploadLatency, s.UploadLatencyP95),
		tokens: max(1, float64(s.Rate)),
	}
}

// request returns the latency of a request that begins now, the duration of its transfer, and
// whether it is refused for its rate. bytes is -1 for a small request.
func (t *responder) request(now time.Duration, bytes int64) (latency, transfer time.Duration, refused bool) {
	refused = !t.admit(now)
	if bytes < 0 {
		return t.vary(t.Latency, t.small), 0, refused
	}
	latency = t.vary(t.UploadLatency, t.upload)
	if t.UploadBandwidth > 0 {
		transfer = seconds(float64(bytes) / float64(t.UploadBandwidth))
	}
	if t.UploadBandwidthTotal > 0 {
		t.idle = max(t.idle, now) + seconds(float64(bytes)/float64(t.UploadBandwidthTotal))
		transfer = max(transfer, t.idle-now)
	}
	return latency, transfer, refused
}

// admit takes a request from the allowance of the rate, which is that of one second at most.
func (t *responder) admit(now time.Duration) bool {
	if t.Rate == 0 {
		return true
	}
	t.tokens = min(max(1, float64(t.Rate)), t.tokens+(now-t.filled).Seconds()*float64(t.Rate))
	t.filled = now
	if t.tokens < 1 {
		return false
	}
	t.tokens--
	return true
}

// extreme is the number of standard deviations beyond which no latency is.
const extreme = 4

func (t *responder) vary(median time.Duration, sigma float64) time.Duration {
	if sigma == 0 {
		return median
	}
	return time.Duration(float64(median) * math.Exp(sigma*max(-extreme, min(extreme, t.random.NormFloat64()))))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
