//go:build rclone

package rclone

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/rclone"
	"assetferry/internal/test/processtest"
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
			processtest.WaitForEnd(t, pid)
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
	_, pid = processtest.Start(t, cmd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return pid
}
