package main

import (
	"fmt"
	"os"
)

// flatMemory compares the peak memory of a plan and of an unchanged sync at two sizes. See
// tenMillion for the largest size.
func (b *bench) flatMemory() ([]row, error) {
	few, many := b.ofMany(100_000), b.ofMany(million)
	for _, s := range []*size{few, many} {
		if err := s.measure(nil); err != nil {
			return nil, err
		}
	}
	return many.comparedWith(few), nil
}

// tenMillion measures memory and the state database at the largest size.
func (b *bench) tenMillion() ([]row, error) {
	few, many := b.ofMany(100_000), b.ofMany(10*million)
	if err := few.measure(nil); err != nil {
		return nil, err
	}
	var bytes int64
	var runs, backup usage
	err := many.measure(func(w *world) (err error) {
		bytes = w.stateSize()
		if err := os.Remove(w.statePath + ".backup"); err != nil { // the sync made one
			return err
		}
		if backup, _, err = w.assetferry("state", "backup"); err != nil {
			return err
		}
		runs, _, err = w.assetferry("runs")
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(many.comparedWith(few), row{
		figure:   fmt.Sprintf("state database of %d objects", many.objects),
		measured: fmt.Sprintf("%.0f bytes for each asset; %s to open it and list its runs", float64(bytes)/float64(many.objects), seconds(runs.Wall)),
		goals:    []goal{memoryWithin(runs, 120)}, took: runs,
	}, row{
		figure:   fmt.Sprintf("its backup, %s", megabytes(bytes)),
		measured: fmt.Sprintf("%s, %.0f MB/s", cost(backup), float64(bytes)/1e6/backup.Wall.Seconds()),
		goals:    []goal{memoryWithin(backup, 120)}, took: backup,
	}), nil
}

// A size is a number of objects, with the usage of a plan that creates all and of an unchanged
// sync.
type size struct {
	*bench
	objects    int
	plan, sync usage
}

func (b *bench) ofMany(objects int) *size { return &size{bench: b, objects: objects / b.scale} }

// measure calls the function, if any, when the unchanged sync has ended.
func (s *size) measure(after func(*world) error) error {
	l := library{objects: s.objects, folders: 2000, size: small}
	err := s.within(l, 0, func(w *world) (err error) {
		s.plan, _, err = w.assetferry("plan", w.source()...)
		return err
	})
	if err != nil {
		return err
	}
	return s.within(l, 0, func(w *world) (err error) {
		if err := w.knowing(); err != nil {
			return err
		}
		s.sync, _, err = w.assetferry("sync", append(w.source(), "--drift-share", "0")...)
		if err != nil || after == nil {
			return err
		}
		return after(w)
	})
}

// comparedWith returns rows that compare the peak memory with that of fewer objects.
func (s *size) comparedWith(few *size) (rows []row) {
	for _, of := range []struct {
		what     string
		few, now usage
	}{{"plan", few.plan, s.plan}, {"unchanged sync", few.sync, s.sync}} {
		ratio := float64(of.now.RSS) / float64(of.few.RSS)
		rows = append(rows, row{
			figure:   fmt.Sprintf("RSS, %s of %d objects", of.what, s.objects),
			baseline: fmt.Sprintf("%s with %d", megabytes(of.few.RSS), few.objects),
			measured: fmt.Sprintf("%s, %.2f x; %s", megabytes(of.now.RSS), ratio, cost(of.now)),
			goals:    []goal{atMost(ratio, 1.2, "1.2 x"), memoryWithin(of.now, 120)}, took: of.now,
		})
	}
	return rows
}
