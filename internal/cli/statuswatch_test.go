package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// The test verifies that status --watch follows another process to its end, and that a killed
// process is reported and not a success.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	smallTree(20).write(t, filepath.Join(dir, "photos"))
	g := hold(s, 5)
	migration := assetferry(t, dir, s.variables(), "migrate", "photos", "--json")
	migration.follow(t)
	<-g.reached
	watch := assetferry(t, dir, s.variables(), "status", "--watch", "--progress", "plain")
	watching := whenPrinted(t, watch, "Run  ")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-watching:
	case <-time.After(patience):
		t.Fatalf("nothing is shown:\n%s", watch.stderr.String())
	}
	if err := migration.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	migration.wait(t)
	if code, err := exitCode(watch.Wait()); err != nil || code != exit.CodeItems {
		t.Errorf("exit code %d (%v)\n%s", code, err, watch.stderr.String())
	}
	if !strings.Contains(watch.stdout.String(), "stopped before it was finished") {
		t.Errorf("the end is not told:\n%s", watch.stdout.String())
	}
	assetferry(t, dir, s.variables(), "migrate", "photos", "--confirm-timeout", "1ms").must(t, exit.CodeDone)
	if out := assetferry(t, dir, s.variables(), "status", "--watch").must(t, exit.CodeDone); !strings.Contains(out, "is finished: 20 uploaded") {
		t.Errorf("got %s", out)
	}
}

// The test verifies that an interrupt of status --watch does not report the run as stopped.
func TestInterruptWatch(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	smallTree(20).write(t, filepath.Join(dir, "photos"))
	g := hold(s, 5)
	migration := assetferry(t, dir, s.variables(), "migrate", "photos", "--json")
	migration.follow(t)
	<-g.reached
	watch := assetferry(t, dir, s.variables(), "status", "--watch")
	watching := whenPrinted(t, watch, "Run  ")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	<-watching
	interrupt(t, watch)
	if code, err := exitCode(watch.Wait()); err != nil || code != exit.CodeInterrupted {
		t.Errorf("exit code %d (%v)", code, err)
	}
	if text := watch.stderr.String(); !strings.Contains(text, "Stopped watching; the run continues.") || strings.Contains(text, "Try:") {
		t.Errorf("told %q", text)
	}
	close(g.open)
	if code := migration.wait(t); code != exit.CodeDone {
		t.Errorf("exit code %d of the run", code)
	}
}
