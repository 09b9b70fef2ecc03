package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Limits at which a comparison fails.
const (
	slower   = 1.25 // times the CPU time
	leastCPU = .1   // seconds; below that, the start of the process takes most of the time
)

// A comparison compares one figure of two versions. Its counts are those that were the same in all
// runs of a version.
type comparison struct {
	Figure  string           `json:"figure"`
	CPU     ratio            `json:"cpu_seconds"`
	Wall    ratio            `json:"wall_seconds"`
	Peak    ratio            `json:"peak_bytes"`
	Memory  ratio            `json:"allocations"`
	Before  map[string]int64 `json:"counts_before,omitempty"`
	Now     map[string]int64 `json:"counts_now,omitempty"`
	Failure []string         `json:"failures,omitempty"`
}

// A ratio compares two versions by pairs of consecutive runs.
type ratio struct {
	Before float64 `json:"before"` // median
	Now    float64 `json:"now"`    // median
	Median float64 `json:"ratio"`  // median of the pairs, now to before; 0 if not measured
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// compare matches the figures of two versions by name, in the order of the newer version. Both have
// the same number of runs.
func compare(before, now [][]result) (all []comparison) {
	for _, first := range now[0] {
		was, is := named(before, first.Figure), named(now, first.Figure)
		if len(was) != len(before) || len(is) != len(now) {
			continue // the figure is new, or failed in a run
		}
		c := comparison{
			Figure: first.Figure,
			CPU:    ratioOf(was, is, func(r result) float64 { return r.CPUSeconds }),
			Wall:   ratioOf(was, is, func(r result) float64 { return r.WallSeconds }),
			Peak:   ratioOf(was, is, func(r result) float64 { return float64(r.PeakBytes) }),
			Memory: ratioOf(was, is, func(r result) float64 { return float64(r.Counts["allocations"]) }),
			Before: steady(was), Now: steady(is),
		}
		c.judge()
		all = append(all, c)
	}
	return all
}

// judge records what is worse by more than the usual variation.
func (c *comparison) judge() {
	if c.CPU.Median > slower && c.CPU.Before >= leastCPU {
		c.Failure = append(c.Failure, fmt.Sprintf("%.2f times the processor time", c.CPU.Median))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Now)) {
		was, ok := c.Before[name]
		allowed := was
		if name == "allocations" { // the number of allocations varies slightly
			allowed += was / 100
		}
		if ok && c.Now[name] > allowed {
			c.Failure = append(c.Failure, fmt.Sprintf("%s: %d, %d before", name, c.Now[name], was))
		}
	}
}

// named returns the results of a figure from each run that has it.
func named(runs [][]result, figure string) (all []result) {
	for _, run := range runs {
		if n := slices.IndexFunc(run, func(r result) bool { return r.Figure == figure }); n >= 0 {
			all = append(all, run[n])
		}
	}
	return all
}

func ratioOf(before, now []result, value func(result) float64) ratio {
	var was, is, ratios []float64
	for n := range now {
		was, is = append(was, value(before[n])), append(is, value(now[n]))
		if was[n] > 0 {
			ratios = append(ratios, is[n]/was[n])
		}
	}
	if len(ratios) == 0 {
		return ratio{}
	}
	return ratio{median(was), median(is), median(ratios), slices.Min(ratios), slices.Max(ratios)}
}

// String returns the ratio, or "" if it was not measured.
func (r ratio) String() string {
	if r.Median == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.Median)
}

// pairs returns the cells of the measurement in seconds, and how much the pairs differ.
func (r ratio) pairs() string {
	if r.Median == 0 {
		return " | | "
	}
	return fmt.Sprintf("%.2f s | %.2f s | **%.3f** (%.2f to %.2f)", r.Before, r.Now, r.Median, r.Least, r.Most)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// steady returns the counts that are the same in all runs.
func steady(runs []result) map[string]int64 {
	counts := maps.Clone(runs[0].Counts)
	for _, r := range runs[1:] {
		maps.DeleteFunc(counts, func(name string, n int64) bool { return r.Counts[name] != n })
	}
	return counts
}

// worseAgain names the figures with failures that had some in the series before, too; before is nil
// in the first series.
func worseAgain(all []comparison, before []string) (names []string) {
	for _, c := range all {
		if len(c.Failure) > 0 && (before == nil || slices.Contains(before, c.Figure)) {
			names = append(names, c.Figure)
		}
	}
	return names
}

// writeComparisons prints a table, followed by the failures.
func writeComparisons(w io.Writer, all []comparison) {
	fmt.Fprintln(w, "| Figure | CPU before | now | Ratio of pairs | Elapsed | Peak RSS | Allocations | Counts, where the runs agree |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	var failures strings.Builder
	for _, c := range all {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", c.Figure, c.CPU.pairs(), c.Wall, c.Peak, c.Memory, c.counts())
		for _, failure := range c.Failure {
			fmt.Fprintf(&failures, "worse: %s: %s\n", c.Figure, failure)
		}
	}
	if failures.Len() > 0 {
		fmt.Fprintf(w, "\n%s", failures.String())
	}
}

// counts describes the counts that differ, or how many are equal.
func (c *comparison) counts() string {
	same := 0
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(c.Now)) {
		switch was, ok := c.Before[name]; {
		case ok && was == c.Now[name]:
			same++
		case ok:
			differ = append(differ, fmt.Sprintf("%s %d to %d", name, was, c.Now[name]))
		}
	}
	switch {
	case len(c.Now) == 0:
		return ""
	case len(differ) == 0:
		return fmt.Sprintf("%d the same", same)
	}
	return strings.Join(differ, ", ")
}
