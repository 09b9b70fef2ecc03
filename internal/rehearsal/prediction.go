package rehearsal

import (
	"iter"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Prediction is the result of a run, and the range of its duration.
type Prediction struct {
	Result    // with the measured values as they are
	Low, High time.Duration
}

const (
	// samples is the number of small uploads by which a probe measures latencies.
	samples = 20
	// certain is the part by which a measured value may be wrong in any case: a service is not
	// equally fast at all times.
	certain = 0.1
	// uneven is the factor by which a measured bandwidth may be wrong: it is measured once.
	uneven = 1.25
	// sure is the number of standard errors to both sides that a range includes.
	sure = 2
)

// Predict simulates a run three times: with the measured latencies and bandwidths, with better ones
// and with worse ones, as far as the scatter of the measurement permits. items is called three times,
// at the same time.
func Predict(s Service, r Run, items func() iter.Seq2[Item, error]) (p Prediction, err error) {
	u := s.uncertainty()
	var all [3]Result
	var group errgroup.Group
	for n, service := range []Service{s.scaled(1/u, 1/uneven), s, s.scaled(u, uneven)} {
		group.Go(func() (err error) {
			all[n], err = Simulate(service, r, items())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Prediction{}, err
	}
	low, mid, high := all[0].Took, all[1], all[2].Took
	return Prediction{
		Result: mid,
		Low:    min(low, time.Duration(float64(mid.Took)*(1-certain))),
		High:   max(high, time.Duration(float64(mid.Took)*(1+certain))),
	}, nil
}

// uncertainty returns the factor by which the measured median of the latencies may be wrong.
func (s Service) uncertainty() float64 {
	deviation := max(sigma(s.Latency, s.LatencyP95), sigma(s.UploadLatency, s.UploadLatencyP95))
	standardError := math.Sqrt(math.Pi/2) * deviation / math.Sqrt(samples) // of a median
	return math.Exp(sure*standardError) * (1 + certain)
}

// Extrapolate multiplies the durations of a prediction.
func (p Prediction) Extrapolate(factor float64) Prediction {
	for _, d := range []*time.Duration{&p.Took, &p.Low, &p.High} {
		*d = time.Duration(float64(*d) * factor)
	}
	return p
}
