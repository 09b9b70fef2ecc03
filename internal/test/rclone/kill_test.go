//go:build rclone

package rclone

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/rclone"
)

// TestKilledProcessLeavesNoRclone kills processes that use rclone, and verifies that their rclones
// end and that the next start removes their sockets.
func TestKilledProcessLeavesNoRclone(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, environ []string) {
		base := ""
		for _, entry := range environ {
			base = strings.TrimPrefix(entry, "XDG_RUNTIME_DIR=")
		}
		for range 10 {
			pid := killUser(t, p, environ)
			waitForEnd(t, pid)
		}
		s := start(t, p, environ)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(base, "assetferry-*")); len(left) > 0 && p.Version.Minor > 60 {
			t.Errorf("left: %v", left)
		}
	})
}

// killUser starts a process that uses rclone and kills it. It returns the process ID of rclone.
func killUser(t *testing.T, p rclone.Program, environ []string) (pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environ, userVariable+"="+p.Path)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscan(line, &pid); scanned != nil {
		t.Fatalf("%q: %v, %v", line, err, scanned)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return pid
}

// waitForEnd waits for the end of a process. Its new parent may not have collected it yet.
func waitForEnd(t *testing.T, pid int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("rclone lives on: %s", stat)
		}
	}
}
