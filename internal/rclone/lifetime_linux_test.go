package rclone

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startUser starts a process that uses rclone, and returns the process ID of that.
func startUser(t *testing.T, environ []string) (cmd *exec.Cmd, stdin io.Closer, rclone int) {
	t.Helper()
	cmd = exec.Command(executable(t))
	cmd.Env = append(environ, roleVariable+"=user")
	in, err := cmd.StdinPipe()
	if err != nil {
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
	if _, scanned := fmt.Sscan(line, &rclone); scanned != nil {
		t.Fatalf("%q: %v, %v", line, err, scanned)
	}
	return cmd, in, rclone
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

// TestKilledUserLeavesNothing kills processes that use rclone. Their rclones end, and the next start
// removes their folders.
func TestKilledUserLeavesNothing(t *testing.T) {
	environ := environment(t)
	base := valueOf(environ, "XDG_RUNTIME_DIR")
	for range 5 {
		cmd, _, pid := startUser(t, environ)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		waitForEnd(t, pid)
		if left, _ := filepath.Glob(filepath.Join(base, folderPrefix+"*")); len(left) != 1 {
			t.Errorf("folders of killed processes: %v", left)
		}
	}
	cmd, stdin, pid := startUser(t, environ)
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	waitForEnd(t, pid)
	if left, _ := os.ReadDir(base); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSupervisor runs rclone below the supervisor, which ends it when its stdin is closed.
func TestSupervisor(t *testing.T) {
	self := executable(t)
	cmd := exec.Command(self, SuperviseArg, self, "rcd", "--rc-addr", "127.0.0.1:0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stderr).ReadString('\n'); err != nil || !servingLine().MatchString(line) {
		t.Errorf("rclone prints %q, %v", line, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, stderr); err != nil { // ends with the last process that has it
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
