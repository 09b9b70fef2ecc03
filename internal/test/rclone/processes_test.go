//go:build rclone

package rclone

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/test/processtest"
)

// A server is a program that a test can end and start again.
type server struct {
	addr    string // that it listens on
	command func() *exec.Cmd

	cmd   *exec.Cmd // nil: it does not run
	log   strings.Builder
	ended chan error
}

// start starts the program, and returns when it accepts connections.
func (s *server) start() error {
	if s.cmd != nil {
		return nil
	}
	cmd := s.command()
	s.log.Reset()
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &s.log, &s.log, time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.ended = cmd, make(chan error, 1)
	go func() { s.ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", s.addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-s.ended:
			s.cmd = nil
			return fmt.Errorf("%s ended: %w\n%s", cmd.Path, err, s.log.String())
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			s.kill()
			return fmt.Errorf("%s does not answer at %s: %w", cmd.Path, s.addr, err)
		}
	}
}

// kill kills the program and all processes that it has started.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	for _, pid := range stopped(s.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	<-s.ended
	s.cmd = nil
}

// stopped stops a process and then all that it has started, so that none of them starts another one. It
// returns their process IDs.
func stopped(pid int) []int {
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if state, _ := status(pid); !strings.Contains("RSD", state) {
			break
		}
	}
	found := []int{pid}
	for _, child := range children(pid) {
		found = append(found, stopped(child)...)
	}
	return found
}

// status returns the state of a process, such as "T" if it is stopped, and the process ID of its parent. A
// process that has ended has the state "X".
func status(pid int) (state string, parent int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, found := bytes.Cut(stat, []byte(") "))
	if err != nil || !found {
		return "X", 0
	}
	if _, err := fmt.Sscan(string(rest), &state, &parent); err != nil {
		return "X", 0
	}
	return state, parent
}

// children returns the process IDs of the living children of a process.
func children(pid int) (found []int) {
	for _, child := range processes() {
		if state, parent := status(child); parent == pid && state != "Z" {
			found = append(found, child)
		}
	}
	return found
}

// processes returns the IDs of all processes.
func processes() (found []int) {
	files, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, name := range files {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// processesWith returns the IDs of living processes with an entry in their environment.
func processesWith(entry string) (found []int) {
	for _, pid := range processes() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+entry+"\x00")) { // else it has ended, or belongs to another user
			found = append(found, pid)
		}
	}
	return found
}

// waitForNone waits until no process has an entry in its environment.
func waitForNone(t *testing.T, entry string) {
	t.Helper()
	for _, pid := range processesWith(entry) {
		processtest.WaitForEnd(t, pid)
	}
	if left := processesWith(entry); len(left) > 0 {
		t.Errorf("processes %d live on with %s", left, entry)
	}
}

// build builds assetferry.
func build(t *testing.T, tags string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "assetferry")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", binary, "assetferry/cmd/assetferry")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}
