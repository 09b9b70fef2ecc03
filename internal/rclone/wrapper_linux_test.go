package rclone

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assetferry/internal/test/processtest"
)

// wrapper returns a script that starts the stand-in, and the file that gets the process ID of it.
func wrapper(t *testing.T, how string) (script, pidFile string) {
	t.Helper()
	dir := t.TempDir()
	script, pidFile = filepath.Join(dir, "rclone"), filepath.Join(dir, "pid")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+strings.ReplaceAll(how, "PID", pidFile)), 0o700); err != nil {
		t.Fatal(err)
	}
	return script, pidFile
}

// TestWrapper verifies that a script which starts rclone as another process is refused, and that
// this process is ended; a script that becomes rclone is not.
func TestWrapper(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v Version) {
		environ := environment(t)
		script, pidFile := wrapper(t, executable(t)+` "$@" & echo $! >PID; wait`)
		_, err := Start(t.Context(), Program{script, v}, Options{Environ: environ})
		wrapped, ok := errors.AsType[*wrapperError](err)
		failed, isStart := errors.AsType[*StartError](err)
		if !ok || !isStart || !strings.Contains(failed.Hint(), "exec") {
			t.Fatalf("error is %v", err)
		}
		text, err := os.ReadFile(pidFile)
		if err != nil {
			t.Fatal(err)
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || pid != wrapped.rclone {
			t.Errorf("the error names process %d, the script %q, %v", wrapped.rclone, text, err)
		}
		processtest.WaitForEnd(t, wrapped.rclone)
		if left, _ := os.ReadDir(valueOf(environ, "XDG_RUNTIME_DIR")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}

		script, _ = wrapper(t, `exec `+executable(t)+` "$@"`)
		s, err := Start(t.Context(), Program{script, v}, Options{Environ: environment(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
