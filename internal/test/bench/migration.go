package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// migrate runs a complete migration and checks the uploads.
func (w *world) migrate(args ...string) (usage, error) {
	u, _, err := w.assetferry("migrate", append(w.source(), args...)...)
	if err == nil {
		err = w.service.arrived.check(w.bucket.objects)
	}
	return u, err
}

// relay runs the baseline.
func (w *world) relay() (usage, error) {
	u, _, err := w.runWell(w.self, relayMode, "-s3", w.s3, "-service", w.service.url, "-workers", strconv.Itoa(atOnce))
	if err == nil {
		err = w.service.arrived.check(w.bucket.objects)
	}
	return u, err
}

// copyByPeer makes the peer copy the bucket to another server, with as many transfers as we have.
// Two servers, because it would have one server copy its own objects. The flags make it trust the
// answer to an upload, as we do, instead of asking for each object again.
func (w *world) copyByPeer() (p peerRun, err error) {
	if w.peer.path == "" {
		return p, nil
	}
	target, rawURL := &bucket{library: w.bucket.library, latency: w.bucket.latency}, ""
	if err := w.serve(target, &rawURL); err != nil {
		return p, err
	}
	p, err = w.rclone("copy", remote(w.s3, bucketName), remote(rawURL, emptyName),
		fmt.Sprintf("--transfers=%d", atOnce), "--s3-no-head", "--s3-no-check-bucket")
	if err == nil {
		err = target.arrived.check(w.bucket.objects)
	}
	return p, err
}

// throughput compares a migration with the baseline, which runs before and after it, and with the
// peer.
func (b *bench) throughput() ([]row, error) {
	l := library{objects: 50_000 / b.scale, folders: 50, size: small}
	var bare, bareAfter, ours usage
	var theirs peerRun
	relay := func(u *usage) func(*world) error {
		return func(w *world) (err error) { *u, err = w.relay(); return err }
	}
	for _, run := range []func(*world) error{
		relay(&bare),
		func(w *world) (err error) { ours, err = w.migrate(flagJobs); return err },
		relay(&bareAfter),
		func(w *world) (err error) { theirs, err = w.copyByPeer(); return err },
	} {
		if err := b.within(l, 0, run); err != nil {
			return nil, err
		}
	}
	base := usage{Wall: (bare.Wall + bareAfter.Wall) / 2, CPU: (bare.CPU + bareAfter.CPU) / 2}
	got, speed, effort := rate(l.objects, ours.Wall), float64(base.Wall)/float64(ours.Wall), float64(ours.CPU)/float64(base.CPU)
	each := func(u usage) float64 { return float64(u.CPU.Microseconds()) / float64(l.objects) }
	return []row{{
		figure: fmt.Sprintf("%d x 20 KiB from S3, whole run, %d at once", l.objects, atOnce),
		baseline: joinBaselines(fmt.Sprintf("bare loop %.0f and %.0f assets/s, %s CPU", rate(l.objects, bare.Wall), rate(l.objects, bareAfter.Wall), seconds(base.CPU)),
			theirs.text),
		measured: fmt.Sprintf("%.0f assets/s, %.0f%%, %s", got, 100*speed, cost(ours)),
		goals:    []goal{atLeast(speed, .92, "92% of the bare loop"), atLeast(got, 1500, "1,500 assets/s"), theirs.wall(ours, 1)}, took: ours,
	}, {
		figure:   "processor time for each asset of this run",
		baseline: fmt.Sprintf("bare loop %.0f µs", each(base)),
		measured: fmt.Sprintf("%.0f µs, %.2f x", each(ours), effort),
		goals:    []goal{atMost(effort, 1.2, "1.2 x the bare loop")},
	}}, nil
}

// underLatency compares a migration with the maximum rate that the latency allows, at one upload
// for each asset and the same number of workers: reads overlap with uploads.
func (b *bench) underLatency(latency time.Duration, share float64) ([]row, error) {
	l := library{objects: 50_000 / b.scale, folders: 50, size: small}
	few := library{objects: l.objects / 5, folders: 50, size: small}
	var bare, ours usage
	var theirs peerRun
	if err := b.within(few, latency, func(w *world) (err error) { bare, err = w.relay(); return err }); err != nil {
		return nil, err
	}
	if err := b.within(l, latency, func(w *world) (err error) { ours, err = w.migrate(flagJobs); return err }); err != nil {
		return nil, err
	}
	if err := b.within(l, latency, func(w *world) (err error) { theirs, err = w.copyByPeer(); return err }); err != nil {
		return nil, err
	}
	limit := float64(atOnce) / latency.Seconds()
	got := rate(l.objects, ours.Wall)
	return []row{{
		figure:   fmt.Sprintf("the same at %v per request, on both sides", latency),
		baseline: joinBaselines(fmt.Sprintf("%d / %v = %.0f assets/s; bare loop %.0f", atOnce, latency, limit, rate(few.objects, bare.Wall)), theirs.text),
		measured: fmt.Sprintf("%.0f assets/s, %.0f%%, %s", got, 100*got/limit, cost(ours)),
		goals:    []goal{atLeast(got, share*limit, fmt.Sprintf("%.0f%%", 100*share)), theirs.wall(ours, 1)}, took: ours,
	}}, nil
}

// resume kills a run half-way and resumes it.
func (b *bench) resume() ([]row, error) {
	l := library{objects: max(2000, 100_000/b.scale), folders: 50, size: 1 * kib} // fewer would end before the kill
	total := func(w *world) int64 { return w.bucket.lists.Load() + w.bucket.gets.Load() + w.service.requests.Load() }
	var whole, cut int64
	var first time.Duration
	var u usage
	if err := b.within(l, 0, func(w *world) error {
		_, err := w.migrate(flagJobs)
		whole = total(w)
		return err
	}); err != nil {
		return nil, err
	}
	err := b.within(l, 0, func(w *world) error {
		c := w.command(w.program, append(append([]string{"migrate"}, w.source()...), flagJobs)...)
		refuse := w.service.holdAfter(l.objects / 2)
		if err := c.Start(); err != nil {
			return err
		}
		for w.service.uploads.Load() < int64(l.objects/2) && b.ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		_ = c.Process.Kill() // it may have failed already, which the check reports
		_ = c.Wait()
		refuse()
		w.service.upload.reset()
		began := time.Now()
		var err error
		u, err = w.migrate(flagJobs, "--confirm-timeout=2s")
		if at := w.service.upload.at.Load(); at != nil {
			first = at.Sub(began)
		} else {
			err = errors.Join(err, errors.New("the first run uploaded everything before the kill"))
		}
		cut = total(w)
		return err
	})
	ratio := float64(cut) / float64(whole)
	return []row{{
		figure:   fmt.Sprintf("resume at half of %d, killed", l.objects),
		baseline: fmt.Sprintf("%d requests without the kill", whole),
		measured: fmt.Sprintf("first upload after %s; %d requests, %.4f x", seconds(first), cut, ratio),
		goals:    []goal{atMost(first, 2*time.Second, "2 s"), atMost(ratio, 1.01, "1.01 x")}, took: u,
	}}, err
}

// largeAsset compares a large object with a small one.
func (b *bench) largeAsset() ([]row, error) {
	peak := func(size int64) (u usage, err error) {
		err = b.within(library{objects: 1, folders: 1, size: size}, 0, func(w *world) (err error) { u, err = w.migrate(); return err })
		return u, err
	}
	idle, err := peak(small)
	if err != nil {
		return nil, err
	}
	size := int64(5e9) / int64(b.scale)
	u, err := peak(size)
	more := u.RSS - idle.RSS
	return []row{{
		figure: fmt.Sprintf("one asset of %.1f GB", float64(size)/1e9), baseline: megabytes(idle.RSS) + " with one of 20 KiB",
		measured: fmt.Sprintf("%s more; %s, %.0f MB/s", megabytes(more), seconds(u.Wall), float64(size)/1e6/u.Wall.Seconds()),
		goals:    []goal{atMost(more, 64e6, "64 MB more")}, took: u,
	}}, err
}
