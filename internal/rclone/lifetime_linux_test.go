package rclone

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"assetferry/internal/test/processtest"
)

// startUser starts a process that uses rclone, and returns the process ID of that.
func startUser(t *testing.T, environ []string) (cmd *exec.Cmd, stdin io.Closer, rclone int) {
	t.Helper()
	cmd = exec.Command(executable(t))
	cmd.Env = append(environ, roleVariable+"=user")
	stdin, rclone = processtest.Start(t, cmd)
	return cmd, stdin, rclone
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
		processtest.WaitForEnd(t, pid)
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
	processtest.WaitForEnd(t, pid)
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
