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
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
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
	pid := s.cmd.Process.Pid
	_ = syscall.Kill(pid, syscall.SIGSTOP) // so that it starts no more of them
	for _, below := range descendants(pid) {
		_ = syscall.Kill(below, syscall.SIGKILL) // it may have ended
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

// children returns the process IDs of the children of a process.
func children(pid int) (found []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		if fields := strings.Fields(string(rest)); len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

func descendants(pid int) (found []int) {
	for _, child := range children(pid) {
		found = append(append(found, child), descendants(child)...)
	}
	return found
}

// processesWith returns the process IDs of living processes with an entry in their environment.
func processesWith(entry string) (found []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, name := range files {
		environ, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+entry+"\x00")) {
			continue // it has ended, or belongs to another user
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// waitForNone waits until no process has an entry in its environment.
func waitForNone(t *testing.T, entry string) {
	t.Helper()
	for _, pid := range processesWith(entry) {
		waitForEnd(t, pid)
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
