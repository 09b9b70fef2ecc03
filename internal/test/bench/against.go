package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// errWorse means that the comparison failed.
var errWorse = errors.New("assetferry got worse: see the comparison above")

// A duel compares this checkout in its present state with a commit. Each side uses its own bench
// and program, because flags and the database differ between versions.
type duel struct {
	dir    string // for the builds
	commit string
	only   string
	scale  int
	pairs  int
	note   io.Writer // receives progress messages
}

// A side is one version of the comparison.
type side struct{ harness, program, root string }

// run measures the two versions alternately and returns the results of each run.
func (d duel) run(ctx context.Context) (before, now [][]result, err error) {
	tree := filepath.Join(d.dir, "worktree")
	if err := command(ctx, "", "git", "worktree", "add", "--quiet", "--detach", tree, d.commit); err != nil {
		return nil, nil, err
	}
	defer func() { // runs after an interrupt, too
		err = errors.Join(err, command(context.WithoutCancel(ctx), "", "git", "worktree", "remove", "--force", tree))
	}()
	was, err := d.build(ctx, "before", tree)
	if err != nil {
		return nil, nil, err
	}
	is, err := d.build(ctx, "now", "")
	if err != nil {
		return nil, nil, err
	}
	for n := range d.pairs {
		fmt.Fprintf(d.note, "pair %d of %d\n", n+1, d.pairs)
		for _, s := range []struct {
			side
			runs *[][]result
		}{{was, &before}, {is, &now}} {
			results, err := d.measure(ctx, s.side)
			if err != nil {
				return nil, nil, err
			}
			*s.runs = append(*s.runs, results)
		}
	}
	return before, now, nil
}

// build builds the bench and the program of a side in a checkout.
func (d duel) build(ctx context.Context, name, root string) (side, error) {
	s := side{filepath.Join(d.dir, name+"-bench"), filepath.Join(d.dir, name+"-assetferry"), root}
	harness := "assetferry/internal/test/bench"
	if _, err := os.Stat(filepath.Join(root, "internal/test/bench")); root != "" && errors.Is(err, fs.ErrNotExist) {
		harness = "assetferry/internal/bench" // where earlier commits have it
	}
	err := command(ctx, root, "go", "build", "-o", s.harness, harness)
	if err == nil {
		err = command(ctx, root, "go", "build", "-tags", "counts", "-o", s.program, "assetferry/cmd/assetferry")
	}
	return s, err
}

// measure runs the bench of a side and returns its results.
func (d duel) measure(ctx context.Context, s side) (results []result, err error) {
	file := s.harness + ".json"
	err = command(ctx, s.root, s.harness, "-program", s.program, "-scale", strconv.Itoa(d.scale), "-only", d.only, "-json", file)
	if err != nil && strings.Contains(err.Error(), "flag provided but not defined: -json") {
		return nil, errors.New("the benchmark of that commit has no flag -json: choose a later commit")
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &results)
	}
	return results, err
}

// command runs a command in a folder. Its error contains the output of the command.
func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	output, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err, output)
	}
	return nil
}
