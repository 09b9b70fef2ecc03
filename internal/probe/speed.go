package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/sorting"
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
		p.profile.HighestRate = max(p.profile.HighestRate, int(rate))
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
		_, alone, err := p.timed(ctx, p.folder, fmt.Sprintf("large %d.txt", n), content[:n])
		if err != nil {
			return err
		}
		size, took = n, p.transfer(alone)
	}
	switch {
	case size == 0:
		return errors.New("the largest file is too small")
	case took < clearly:
		return fmt.Errorf("%d bytes took %v, which shows no limit", size, (took + p.profile.UploadLatency).Round(time.Millisecond))
	}
	p.profile.UploadBandwidth = perSecond(size, took)
	size = min(size, sizeAbreast)
	all, err := p.largeAtOnce(ctx, content[:size])
	if err != nil {
		return err
	}
	p.profile.UploadBandwidthTotal = max(p.profile.UploadBandwidth, perSecond(abreastLarge*size, p.transfer(all...)))
	return nil
}

// A span is the time between the start and the end of the last attempt of an upload. Refusals by the
// rate limit and the waits after them are not part of it.
type span struct{ began, ended time.Time }

// timed uploads the content to a folder.
func (p *prober) timed(ctx context.Context, folder, name string, content []byte) (a assets.Asset, s span, err error) {
	a, err = p.Client.Upload(ctx, assets.Upload{
		FolderID: folder, Filename: name, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) {
			s.began = p.Now()
			return io.NopCloser(bytes.NewReader(content)), nil
		},
	})
	s.ended = p.Now()
	return a, s, err
}

// transfer returns the time in which at least one of the uploads was in progress, without that of a
// small one.
func (p *prober) transfer(uploads ...span) (d time.Duration) {
	sorting.By(uploads, func(a, b span) int { return a.began.Compare(b.began) })
	var until time.Time
	for _, s := range uploads {
		if s.began.Before(until) {
			s.began = until
		}
		if s.ended.After(s.began) {
			d += s.ended.Sub(s.began)
			until = s.ended
		}
	}
	return max(0, d-p.profile.UploadLatency)
}

func perSecond(bytes int, in time.Duration) int64 {
	return int64(math.Round(float64(bytes) / max(in, time.Millisecond).Seconds()))
}

// largeAtOnce uploads the content several times.
func (p *prober) largeAtOnce(ctx context.Context, content []byte) ([]span, error) {
	spans, errs := make([]span, abreastLarge), make([]error, abreastLarge)
	var workers sync.WaitGroup
	for i := range abreastLarge {
		workers.Go(func() { _, spans[i], errs[i] = p.timed(ctx, p.folder, fmt.Sprintf("large %d.txt", i), content) })
	}
	workers.Wait()
	return spans, errors.Join(errs...)
}
