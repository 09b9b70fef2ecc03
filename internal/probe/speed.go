package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"assetferry/internal/assets"
)

// bursts are the numbers of small requests that are sent at the same time, one burst after the other,
// until the service refuses some.
var bursts = []int{60, 120, 240}

// largeSizes are the sizes of the uploads that measure the bandwidth, one after the other, until one
// takes longUpload.
var largeSizes = []int{256 << 10, 1 << 20, 4 << 20, 16 << 20}

const (
	abreast      = 5       // requests of a burst for each that is in progress at the same time
	abreastLarge = 16      // large uploads at the same time, as many as by default in a run
	sizeAbreast  = 4 << 20 // maximum size of each of them
	longUpload   = 2 * time.Second
	// clearly is the minimum duration of a transfer that can be distinguished from the latency.
	clearly   = 20 * time.Millisecond
	oneSecond = 1200 * time.Millisecond // plus a margin, after which earlier requests no longer count
)

func sum(all []int) (n int) {
	for _, x := range all {
		n += x
	}
	return n
}

// MostBytes returns the maximum size of all uploads of a probe in bytes, without repetitions.
func MostBytes() int64 { return int64(sum(largeSizes) + abreastLarge*sizeAbreast) }

// rate finds the requests per second that the service accepts. It assumes that the burst limit equals the
// limit per second.
func (p *prober) rate(ctx context.Context) error {
	for _, burst := range bursts {
		if err := sleep(ctx, oneSecond); err != nil {
			return err
		}
		began := p.Now()
		replies, err := p.atOnce(ctx, burst)
		took := p.Now().Sub(began)
		if err != nil {
			return err
		}
		passed := 0
		for _, r := range replies {
			switch r.Status {
			case http.StatusOK:
				passed++
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				p.profile.RetryAfter = cmp.Or(r.Header.Get("Retry-After"), p.profile.RetryAfter)
			}
		}
		rate := float64(passed) / (1 + took.Seconds())
		if passed < burst {
			p.profile.Rate = max(1, int(math.Ceil(rate)))
			return nil
		}
		p.profile.HighestRate = int(rate)
	}
	return fmt.Errorf("all %d requests were accepted, up to %d a second", sum(bursts), p.profile.HighestRate)
}

// atOnce sends a burst.
func (p *prober) atOnce(ctx context.Context, burst int) ([]assets.Reply, error) {
	replies, errs := make([]assets.Reply, burst), make([]error, burst)
	work := make(chan int)
	var workers sync.WaitGroup
	for range burst / abreast {
		workers.Go(func() {
			for i := range work {
				replies[i], errs[i] = p.Client.Ask(ctx, p.small())
			}
		})
	}
	for i := range burst {
		work <- i
	}
	close(work)
	workers.Wait()
	return replies, errors.Join(errs...)
}

// bandwidth measures uploads of growing size, and several at the same time.
func (p *prober) bandwidth(ctx context.Context) error {
	content := make([]byte, largeSizes[len(largeSizes)-1])
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	size, took := 0, time.Duration(0)
	for _, n := range largeSizes {
		if most := p.profile.MaxFileSize; most > 0 && int64(n) > most || took >= longUpload {
			break
		}
		d, err := p.timed(func() error { return p.large(ctx, n, content[:n]) })
		if err != nil {
			return err
		}
		size, took = n, d
	}
	switch {
	case size == 0:
		return errors.New("the largest file is too small")
	case took < clearly:
		return fmt.Errorf("%d bytes took %v, which shows no limit", size, (took + p.profile.UploadLatency).Round(time.Millisecond))
	}
	p.profile.UploadBandwidth = perSecond(size, took)
	size = min(size, sizeAbreast)
	all, err := p.timed(func() error { return p.largeAtOnce(ctx, content[:size]) })
	if err != nil {
		return err
	}
	p.profile.UploadBandwidthTotal = max(p.profile.UploadBandwidth, perSecond(abreastLarge*size, all))
	return nil
}

// timed returns the duration of an upload without that of a small one.
func (p *prober) timed(upload func() error) (time.Duration, error) {
	began := p.Now()
	err := upload()
	return max(0, p.Now().Sub(began)-p.profile.UploadLatency), err
}

func perSecond(bytes int, in time.Duration) int64 {
	return int64(math.Round(float64(bytes) / max(in, time.Millisecond).Seconds()))
}

func (p *prober) large(ctx context.Context, number int, content []byte) error {
	_, err := p.upload(ctx, fmt.Sprintf("large %d.txt", number), content)
	return err
}

// largeAtOnce uploads the content several times.
func (p *prober) largeAtOnce(ctx context.Context, content []byte) error {
	errs := make([]error, abreastLarge)
	var workers sync.WaitGroup
	for i := range abreastLarge {
		workers.Go(func() { errs[i] = p.large(ctx, i, content) })
	}
	workers.Wait()
	return errors.Join(errs...)
}
