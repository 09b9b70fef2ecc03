// Package built builds the program, and runs its sandbox, for tests that use both as people do.
package built

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Program builds assetferry in a folder, and returns its path.
func Program(tb testing.TB, dir string) string {
	tb.Helper()
	path := filepath.Join(dir, "assetferry")
	c := exec.Command("go", "build", "-o", path, "assetferry/cmd/assetferry")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

var variable = regexp.MustCompile(`(?m)^export (\w+)='(.*)'$`)

// Sandbox runs the sandbox of a program until the test ends. It returns the variables that it prints:
// its URLs and its credentials.
func Sandbox(tb testing.TB, program string, environ []string, flags ...string) map[string]string {
	tb.Helper()
	c := exec.Command(program, append([]string{"sandbox"}, flags...)...)
	c.Env = environ
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			tb.Errorf("the sandbox ended: %v", err)
		}
	})
	printed, err := io.ReadAll(stdout) // it closes stdout once it listens
	if err != nil {
		tb.Fatal(err)
	}
	values := map[string]string{}
	for _, m := range variable.FindAllStringSubmatch(string(printed), -1) {
		values[m[1]] = m[2]
	}
	return values
}
