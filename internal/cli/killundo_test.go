package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/faultpoint"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"

	gocmp "github.com/google/go-cmp/cmp"
)

// undoPoints lists the fault points in an undo of a sync, with the hits that differ: those of the
// batches that are trashed, moved, and changed one by one.
var undoPoints = map[faultpoint.Point][]int{
	faultpoint.Staged: {1}, faultpoint.Decided: {1}, faultpoint.Planned: {1}, faultpoint.Taken: {1, 2, 3},
	faultpoint.Sent: {1, 2, 3, 4, 5, 6, 7}, faultpoint.Described: {1}, faultpoint.Recorded: {1, 2, 3}, faultpoint.Finished: {1}, faultpoint.BackedUp: {1},
}

// TestKillUndoOfSync kills an undo of a sync at each fault point, in the long form at each hit of
// it, and resumes the undo. It verifies that the destination is as before the sync, and that the
// next sync makes the same changes again.
func TestKillUndoOfSync(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed looks like one that failed")
	}
	t.Parallel()
	binary, random := withFaultpoints(t), seedtest.Rand(t)
	for point, hits := range undoPoints {
		if !longtest.Takes(random, 4) {
			continue
		}
		n := random.IntN(len(hits))
		for _, n := range longtest.Size(hits[n:n+1], hits) {
			t.Run(fmt.Sprintf("%s %d", point, n), func(t *testing.T) {
				t.Parallel()
				killUndoOfSync(t, binary, point, n)
			})
		}
	}
}

func killUndoOfSync(t *testing.T, binary string, point faultpoint.Point, n int) {
	dir := t.TempDir()
	s := startService(t, sandbox.Options{})
	files := tree{"stays.jpg": "stays", "a/moved.jpg": "moved", "a/renamed.jpg": "renamed", "replaced.jpg": "before", "same.txt": "before",
		"gone.jpg": "gone", "a/gone.txt": "gone, too"}
	files.write(t, dir+"/src")
	sync := []string{"sync", "src", "--json", "--delete", "trash", "--grace-period", "0s", "--max-delete-percent", "100", "--max-changes-percent", "100",
		"--provenance", "always"}
	run := func(want int, args ...string) printed {
		return lastEvent(t, assetferry(t, dir, s.variables(), args...).must(t, want))
	}
	remove := func(keys ...string) {
		for _, key := range keys {
			if err := os.Remove(filepath.Join(dir, "src", key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(exit.CodeDone, sync...)
	remove("gone.jpg", "a/gone.txt")
	run(exit.CodeDone, sync...)
	before, err := s.assets()
	if err != nil {
		t.Fatal(err)
	}
	remove("a/moved.jpg", "a/renamed.jpg")
	tree{"b/moved.jpg": "moved", "b/another name.jpg": "renamed", "replaced.jpg": "after it has changed", "same.txt": "AFTER!", "new.txt": "new"}.write(t, dir+"/src")
	lastSync := run(exit.CodeDone, sync...)

	undo := []string{"undo", "--run", lastSync.Run, "--apply", "--yes", "--json", "-j", "1"}
	p := assetferry(t, dir, s.variables(), undo...)
	p.Path = binary
	p.Env = append(p.Env, fmt.Sprintf("%s=%s:%d", faultpoint.Variable, point, n))
	if code := p.run(t); code != -1 || !strings.Contains(p.stderr.String(), fmt.Sprintln(faultpoint.KilledMessage, point)) {
		t.Fatalf("it did not die, exit code %d\n%s%s", code, p.stdout.String(), p.stderr.String())
	}
	s.rest(t)
	again := assetferry(t, dir, s.variables(), undo...)
	again.must(t, exit.CodeDone)
	if finished := point == faultpoint.Finished || point == faultpoint.BackedUp; !finished {
		if got := lastEvent(t, again.stdout.String()); got.States["done"] != 7 || len(got.States) != 1 {
			t.Errorf("the undo came to %v", got.States)
		}
	}
	after, err := s.assets()
	if err != nil {
		t.Fatal(err)
	}
	byPlace := func(a, b stored) int { return strings.Compare(a.place(), b.place()) }
	slices.SortFunc(before, byPlace)
	slices.SortFunc(after, byPlace)
	if diff := gocmp.Diff(before, after, gocmp.AllowUnexported(stored{})); diff != "" {
		t.Errorf("(-evening before +now):\n%s", diff)
	}
	assetferry(t, dir, s.variables(), "state", "check").must(t, exit.CodeDone)
	assetferry(t, dir, s.variables(), "verify", "--content").must(t, exit.CodeDone)
	if next := run(exit.CodeDone, sync...); !gocmp.Equal(lastSync.Actions, next.Actions) {
		t.Errorf("the next run did %v, want %v", next.Actions, lastSync.Actions)
	}
}
