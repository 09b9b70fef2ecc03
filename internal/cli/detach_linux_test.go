package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/tokens"
)

// The test verifies that Ctrl-C and Ctrl-\ at the prompt of an interactive shell do not end a
// sandbox in the background, but that sandbox stop does. In the foreground Ctrl-C ends it.
func TestSandboxOutlivesCtrlC(t *testing.T) {
	t.Parallel()
	for _, shell := range [][]string{{"bash", "--norc", "--noprofile", "-i"}, {"bash", "--norc", "--noprofile", "-i", "+m"}, {"dash", "-i"}} {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			if _, err := exec.LookPath(shell[0]); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			s := typeAt(t, dir, shell)
			s.enter(`eval "$(assetferry sandbox --data data --no-ai --listen ` + quietLoopback(3) + `:0 2>log &)"; echo >began`)
			s.await("began", "")
			c := controlIn(t, dir)
			t.Cleanup(func() { // for a test that fails early
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				_ = c.Stop(ctx)
			})
			first, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.press('\x03')
			s.press('\x1c')
			s.await("pressed", "echo >pressed")
			if now, err := c.Status(t.Context()); err != nil || now.Process != first.Process {
				t.Fatalf("after Ctrl-C at the prompt: %+v, %v", now, err)
			}
			s.enter("assetferry sandbox stop && echo >stopped")
			s.await("stopped", "")

			s.enter("assetferry sandbox --data data --no-ai 2>log; echo >ended")
			s.until("it is at its old port, and in the foreground", func() bool {
				_, err := c.Status(t.Context())
				return err == nil
			})
			s.press('\x03')
			s.await("ended", "echo >ended")
		})
	}
}

// controlIn returns the access to the sandbox in a folder, for orders.
func controlIn(t *testing.T, dir string) sandbox.Control {
	t.Helper()
	c, err := tokens.LoadCredentials(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "data", "listen.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ports struct{ Assets string }
	if err := json.Unmarshal(text, &ports); err != nil {
		t.Fatal(err)
	}
	return sandbox.Control{URL: "http://" + ports.Assets, Key: c.AccessKey, Now: time.Now}
}

// A typist types in a shell on its own terminal.
type typist struct {
	*testing.T
	dir      string
	terminal *os.File
	command  *exec.Cmd
}

func typeAt(t *testing.T, dir string, shell []string) *typist {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), shell[0], shell[1:]...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, line, line, line
	c.Env = append(assetferry(t, dir, nil).Env, "TERM=dumb", "HISTFILE=")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = line.Close()
	s := &typist{t, dir, terminal, c}
	go func() { // a shell blocks if its terminal is not read
		for b := make([]byte, 4096); ; {
			if _, err := terminal.Read(b); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = terminal.Close()
	})
	return s
}

func (s *typist) enter(line string) {
	s.Helper()
	if _, err := s.terminal.WriteString(line + "\n"); err != nil {
		s.Fatal(err)
	}
}

// press presses a key. A terminal may discard input right after a key that interrupts programs.
func (s *typist) press(key byte) {
	s.Helper()
	if _, err := s.terminal.Write([]byte{key}); err != nil {
		s.Fatal(err)
	}
}

// await types a line repeatedly until a file exists.
func (s *typist) await(name, line string) {
	s.Helper()
	n := 0
	s.until("there is a file "+name, func() bool {
		if line != "" && n%20 == 0 {
			s.enter(line)
		}
		n++
		_, err := os.Stat(filepath.Join(s.dir, name))
		return err == nil
	})
}

// until waits until a condition is true.
func (s *typist) until(what string, is func() bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.Fatalf("never was so: %s\n%s", what, log)
		}
	}
}
