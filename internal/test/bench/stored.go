package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// syncsIn matches the lines of strace -c for sync calls: percentage of the time, seconds,
// microseconds per call, number of calls, and number of errors.
var syncsIn = regexp.MustCompile(`(?m)^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)(?:\s+\d+)?\s+f(?:data)?sync$`)

// statePath measures the space that an asset takes in the state database, and the number of calls
// that wait for the disk.
func (b *bench) statePath() ([]row, error) {
	l := library{objects: 20_000 / b.scale, folders: 50, size: small}
	var size int64
	var u usage
	syncs := -1
	err := b.within(l, 0, func(w *world) error {
		trace, err := exec.LookPath("strace")
		if err != nil {
			u, err = w.migrate()
			size = w.stateSize()
			return err
		}
		log := filepath.Join(w.home.dir, "trace")
		args := append([]string{"-f", "-c", "-e", "trace=fsync,fdatasync", "-o", log, w.program, "migrate"}, w.source()...)
		if _, _, err := w.runWell(trace, args...); err != nil {
			return err
		}
		size = w.stateSize()
		text, err := os.ReadFile(log)
		syncs = 0
		for _, m := range syncsIn.FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			syncs += n
		}
		return errors.Join(err, w.service.arrived.check(l.objects))
	})
	each := float64(size) / float64(l.objects)
	thousand := float64(syncs) * 1000 / float64(l.objects)
	measured := fmt.Sprintf("%.0f bytes, %.1f syncs per 1,000", each, thousand)
	few := atMost(thousand, 20, "20 syncs")
	if syncs < 0 {
		few.verdict = missed
		measured = fmt.Sprintf("%.0f bytes; counting syncs needs strace", each)
	}
	return []row{{
		figure:   fmt.Sprintf("state database after %d assets with keys of %d bytes", l.objects, len(l.key(0))),
		baseline: "", measured: measured, goals: []goal{atMost(each, 600, "600 bytes"), few}, took: u,
	}}, err
}

// readers measures the commands that only read the state database.
func (b *bench) readers() (rows []row, err error) {
	l := library{objects: million / b.scale, folders: 2000, size: small}
	err = b.within(l, 0, func(w *world) error {
		if err := w.knowing(); err != nil {
			return err
		}
		for _, c := range []struct {
			command string
			args    []string
			prints  string
			must    time.Duration
		}{
			{"report", nil, "", 10 * time.Second},
			{"report", []string{"--format", "csv", "--output", "report.csv"}, "", 10 * time.Second},
			{"report", []string{"--format", "html", "--output", "report.html"}, "", 10 * time.Second},
			{"report", []string{"--split-by", "folder", "--format", "csv", "--output", "reports"}, "", 10 * time.Second},
			{"urls", []string{"--output", "urls.tsv"}, fmt.Sprintf("%d URLs in urls.tsv", l.objects), 5 * time.Second},
			{"urls", []string{"--format", "nginx", "--output", "urls.conf"}, fmt.Sprintf("%d URLs in urls.conf", l.objects), 5 * time.Second},
			{"status", nil, "", 200 * time.Millisecond},
			{"runs", nil, "", 200 * time.Millisecond},
		} {
			u, err := w.prints(c.command, c.prints, c.args...)
			if err != nil {
				return err
			}
			rows = append(rows, row{
				figure: fmt.Sprintf("%s, %d items", strings.Join(append([]string{c.command}, c.args...), " "), l.objects), measured: cost(u),
				goals: []goal{wallWithin(u, c.must), memoryWithin(u, 150)}, took: u,
			})
		}
		return nil
	})
	return rows, err
}

// comparers measures the commands that compare the state database with all assets at the
// destination. The peer compares two buckets.
func (b *bench) comparers() (rows []row, err error) {
	l := library{objects: million / b.scale, folders: 2000, size: small}
	err = b.within(l, 0, func(w *world) error {
		if err := w.knowing(); err != nil {
			return err
		}
		w.service.remember()
		verify, err := w.prints("verify", "no difference", "--quiet")
		if err != nil {
			return err
		}
		undo, err := w.prints("undo", "assets would be trashed", "--run", w.run, "--quiet")
		if err != nil {
			return err
		}
		theirs, err := w.rclone("check", remote(w.s3, bucketName), remote(w.s3, copyName), fastList)
		rows = []row{{
			figure: fmt.Sprintf("verify, %d assets", l.objects), baseline: theirs.text, measured: cost(verify),
			goals: []goal{wallWithin(verify, 10*time.Second), theirs.wall(verify, 1), memoryWithin(verify, 150)}, took: verify,
		}, {
			figure: fmt.Sprintf("undo, %d assets", l.objects), measured: cost(undo),
			goals: []goal{wallWithin(undo, 15*time.Second), memoryWithin(undo, 150)}, took: undo,
		}}
		return err
	})
	return rows, err
}
