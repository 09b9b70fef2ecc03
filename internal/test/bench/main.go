// Command bench measures the speed and memory of assetferry, on this machine and together with
// baselines, and prints a table:
//
//	go run ./internal/test/bench
//	go run ./internal/test/bench -only 'quiet|plan' -scale 10
//	go run ./internal/test/bench -against HEAD~1 -scale 20
//	go run ./internal/test/bench -peer rclone -only plan
//
// It builds the real program and runs it as a process. The program reads from a computed bucket and
// uploads to a service that discards the content. Both are servers in the process of the bench:
// they need little CPU time, but share the processors with the program. Each run is followed by a
// check that every object was uploaded once, with its content.
//
// For the complete table, it also builds rclone from the module in the folder rclone, and measures
// it in the same run: without a peer, goals that depend on it have no verdict. The flags of rclone
// are those with which it takes the least time. With --fast-list, it lists a bucket with a request
// for each 1,000 objects instead of requests for each folder: it needs 15% less processor time but
// six times the memory.
//
// With -against, the bench compares this checkout with a commit. It builds both, runs each with its
// own bench, and alternates between them. It fails with exit code 1 if in each of three series the
// same figure needs over 25% more CPU time, or a count that is the same in all runs of a version
// (requests, statements, transactions, allocations) is higher.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if done, err := inMode(ctx, args); done {
		return err
	}
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	only := f.String("only", "", "measure only the figures whose names match this `pattern`")
	scale := f.Int("scale", 1, "divide all object counts, for a quick check; the table shows the divisor")
	program := f.String("program", "", "measure this program `file` instead of building one")
	keep := f.Bool("keep", false, "keep the folder with state databases and files")
	file := f.String("json", "", "also write the results to this `file`")
	against := f.String("against", "", "compare this checkout with a `commit`, in pairs of runs")
	pairs := f.Int("pairs", 5, "number of pairs for -against")
	peer := f.String("peer", "", "compare with this rclone `file`; \"build\" builds it, which is the default for the complete table; \"none\" is the default otherwise")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *against != "" {
		return runAgainst(ctx, duel{commit: *against, only: *only, scale: *scale, pairs: max(1, *pairs), note: os.Stderr}, *file)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	complete := *only == "" && *scale <= 1 && *program == "" // -against gives a program
	if *peer == "" && complete {
		*peer = peerBuilt
	}
	b, err := newBench(ctx, os.Stdout, *scale, *program, cmp.Or(*peer, peerNone))
	if err != nil {
		return err
	}
	defer func() {
		if *keep {
			fmt.Fprintln(os.Stderr, "kept:", b.dir)
		} else if err := os.RemoveAll(b.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	rows, err := b.all(pattern)
	return errors.Join(err, writeJSON(*file, resultsOf(rows)))
}

// series is how often figures that seem worse are measured, to rule out chance.
const series = 3

// runAgainst compares this checkout with a commit.
func runAgainst(ctx context.Context, d duel, file string) (err error) {
	if d.dir, err = os.MkdirTemp("", "assetferry-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	var worse []string
	for n := range series {
		before, now, err := d.run(ctx)
		if err != nil {
			return err
		}
		all := compare(before, now)
		if err := writeJSON(file, all); err != nil {
			return err
		}
		writeComparisons(os.Stdout, all)
		if worse = worseAgain(all, worse); len(worse) == 0 {
			return nil
		}
		fmt.Fprintf(d.note, "seems worse in %d of %d series: %s\n", n+1, series, strings.Join(worse, "; "))
	}
	return errWorse
}

// inMode runs the task of a helper process that the first argument selects.
func inMode(ctx context.Context, args []string) (done bool, err error) {
	if len(args) < 2 {
		return false, nil
	}
	switch args[0] {
	case measureMode:
		return true, measure(args[1], args[2:]...)
	case relayMode:
		return true, relay(ctx, args[1:])
	case listMode:
		return true, list(ctx, args[1:])
	}
	return false, nil
}
