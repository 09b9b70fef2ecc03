//go:build unix

package usertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const unprivileged = 65534

// Run runs a test in a new directory, and never as root: for root it starts a process as another
// user. The test must be a top-level test of the test binary.
func Run(t *testing.T, test func(t *testing.T, dir string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		dir := os.Getenv(childVariable)
		if dir == "" {
			dir = t.TempDir()
		}
		test(t, dir)
		return
	}
	dir, err := os.MkdirTemp("", "assetferry-unprivileged")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o755))
	work := filepath.Join(dir, "work")
	must(t, os.Mkdir(work, 0o700))
	must(t, os.Chown(work, unprivileged, unprivileged))

	cmd := exec.CommandContext(t.Context(), copyOfThisBinary(t, dir), "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), childVariable+"="+work)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Fatalf("as another user: %v\n%s", err, output)
	}
}

// copyOfThisBinary copies the test binary to a place that another user can read.
func copyOfThisBinary(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	content, err := os.ReadFile(self)
	must(t, err)
	path := filepath.Join(dir, "test")
	must(t, os.WriteFile(path, content, 0o755))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
