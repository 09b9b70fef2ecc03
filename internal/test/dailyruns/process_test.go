//go:build unix

package dailyruns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/clock"
)

// unprivileged is the user ID that runs the binary if root runs the tests, since root may read
// everything.
const unprivileged = 65534

// patience is the time after which a process counts as hanging, on a busy machine.
const patience = 4 * time.Minute

// A binary is assetferry, built for these tests, with its own home directory.
type binary struct{ path, home string }

// build builds assetferry with an adjustable clock and with fault points.
func build(t *testing.T, dir string) binary {
	t.Helper()
	b := binary{filepath.Join(dir, "assetferry"), filepath.Join(dir, "home")}
	c := exec.CommandContext(t.Context(), "go", "build", "-tags", "testclock,faultpoints", "-o", b.path, "assetferry/cmd/assetferry")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	dependOn(t)
	must(t, os.Mkdir(b.home, 0o700))
	if os.Geteuid() == 0 {
		must(t, os.Chown(b.home, unprivileged, unprivileged))
	}
	return b
}

// dependOn reads all files that the binary is built from, so that the go command does not use a
// cached result of this test when any of them has changed.
func dependOn(t *testing.T) {
	t.Helper()
	const ours = `{{with .Module}}{{if .Main}}{{$.Dir}}{{range $.EmbedFiles}}{{"\n"}}{{$.Dir}}/{{.}}{{end}}{{end}}{{end}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", ours, "assetferry/cmd/assetferry").Output()
	must(t, err)
	for path := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		_, err := os.ReadDir(path)
		if errors.Is(err, syscall.ENOTDIR) {
			_, err = os.Stat(path)
		}
		must(t, err)
	}
}

// command prepares a call at a time, with only the given environment.
func (b binary) command(ctx context.Context, moved time.Duration, env []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, b.path, args...)
	c.Dir = b.home
	c.Env = append([]string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH"), clock.Variable + "=" + moved.String()}, env...)
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	return c
}

// A call is a process that has ended.
type call struct {
	command        fmt.Stringer
	code           int // -1: it was killed
	stdout, stderr string
}

func run(t *testing.T, c *exec.Cmd) call {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return call{c, c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must fails the test unless the process ended with a code.
func (c call) must(t *testing.T, code int) call {
	t.Helper()
	if c.code != code {
		t.Fatalf("%s: exit code %d, want %d\n%s", c.command, c.code, code, c)
	}
	return c
}

func (c call) String() string { return c.stdout + c.stderr }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
