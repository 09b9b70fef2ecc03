package main

import (
	"errors"
	"fmt"
	"time"
)

// figures lists all measurements, in the order of the table.
var figures = []figure{
	{name: "throughput", measure: (*bench).throughput},
	{name: "latency 20 ms", measure: func(b *bench) ([]row, error) { return b.underLatency(20*time.Millisecond, .92) }},
	{name: "latency 50 ms", measure: func(b *bench) ([]row, error) { return b.underLatency(50*time.Millisecond, .95) }},
	{name: "plan", measure: (*bench).plan},
	{name: "sidecars", measure: (*bench).sidecars},
	{name: "unchanged sync, 2,000 folders", measure: func(b *bench) ([]row, error) { return b.quietSync(2000) }},
	{name: "unchanged sync, one folder", measure: func(b *bench) ([]row, error) { return b.quietSync(1) }},
	{name: "first contact", measure: (*bench).firstContact},
	{name: "flat memory", measure: (*bench).flatMemory},
	{name: "ten million", measure: (*bench).tenMillion, long: true},
	{name: "resume", measure: (*bench).resume},
	{name: "large asset", measure: (*bench).largeAsset},
	{name: "state database", measure: (*bench).statePath},
	{name: "start", measure: (*bench).start},
	{name: "version", measure: (*bench).version},
	{name: "report, urls, status", measure: (*bench).readers},
	{name: "verify, undo", measure: (*bench).comparers},
	{name: "rewrite", measure: (*bench).rewrite},
	{name: "local directory", measure: (*bench).localDirectory},
	{name: "local tree", measure: (*bench).localTree},
	{name: "remote of rclone", measure: func(b *bench) ([]row, error) { return b.remoteOfRclone(0, 0) }},
	{name: "remote of rclone at 20 ms", measure: func(b *bench) ([]row, error) { return b.remoteOfRclone(20*time.Millisecond, .85) }},
}

const (
	kib      = 1 << 10
	million  = 1_000_000
	small    = 20 * kib
	atOnce   = 32
	flagJobs = "--concurrency=32"
)

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func rate(objects int, d time.Duration) float64 { return float64(objects) / d.Seconds() }

// cost describes a run in the table.
func cost(u usage) string { return fmt.Sprintf("%s, %s CPU", seconds(u.Wall), seconds(u.CPU)) }

// within runs a measurement in its own world.
func (b *bench) within(l library, latency time.Duration, f func(*world) error) error {
	w, err := b.newWorld(l, latency)
	if err != nil {
		return err
	}
	return errors.Join(f(w), w.close())
}
