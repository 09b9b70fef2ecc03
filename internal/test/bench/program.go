package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// start measures the time from the start of the process to its first request. It returns the best
// of several runs.
func (b *bench) start() ([]row, error) {
	l := library{objects: 10, folders: 1, size: small}
	var best time.Duration
	err := b.within(l, 0, func(w *world) error {
		if _, err := w.migrate(); err != nil {
			return err
		}
		for range 10 {
			took, err := w.untilFirstRequest()
			if err != nil {
				return err
			}
			if best == 0 || took < best {
				best = took
			}
		}
		return nil
	})
	return []row{{
		figure: "process start to first request", measured: fmt.Sprintf("%d ms", best.Milliseconds()),
		goals: []goal{atMost(best, 100*time.Millisecond, "100 ms")},
	}}, err
}

// untilFirstRequest returns the time until a migration sends its first request, to the service or
// to the bucket.
func (w *world) untilFirstRequest() (time.Duration, error) {
	w.service.first.reset()
	w.bucket.first.reset()
	began := time.Now()
	if out, err := w.command(w.program, append([]string{"migrate"}, w.source()...)...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	first := *w.service.first.at.Load()
	if at := w.bucket.first.at.Load(); at.Before(first) {
		first = *at
	}
	return first.Sub(began), nil
}

// version measures the smallest command of the program as it is released, and the size of that
// file. It returns the best of several runs.
func (b *bench) version() ([]row, error) {
	file, err := b.released()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	var best usage
	err = b.within(library{}, 0, func(w *world) error {
		for range 20 {
			u, _, err := w.runWell(file, "version")
			if err != nil {
				return err
			}
			if best.Wall == 0 || u.Wall < best.Wall {
				best = u
			}
		}
		return nil
	})
	kind := "stripped file"
	if b.given {
		kind = "file as given"
	}
	return []row{{
		figure: "version", measured: fmt.Sprintf("%.1f ms, %.1f ms CPU", 1e3*best.Wall.Seconds(), 1e3*best.CPU.Seconds()),
		goals: []goal{atMost(best.Wall, 30*time.Millisecond, "30 ms"), memoryWithin(best, 45)}, took: best,
	}, {
		figure: kind, measured: fmt.Sprintf("%.1f MB", float64(info.Size())/1e6),
		goals: []goal{atMost(info.Size(), 45e6, "45 MB")},
	}}, err
}

// released returns the path of the program as it is released, or of the given one.
func (b *bench) released() (string, error) {
	if b.given {
		return b.program, nil
	}
	file := filepath.Join(b.dir, "released")
	return file, command(b.ctx, "", "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "assetferry/cmd/assetferry")
}
