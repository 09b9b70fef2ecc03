package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"assetferry/internal/demo"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/usertest"
)

// What several tests need and takes long is made once for all of them.

// writeLibrary writes the made-up library, with small photos, into a folder.
func writeLibrary(dir string) error {
	l, err := madeLibrary()
	if err == nil {
		_, err = l.Write(dir)
	}
	return err
}

var madeLibrary = sync.OnceValues(demo.MakeSmallLibrary)

// withFaultpoints gives the path of an assetferry that can be made to die at a point.
func withFaultpoints(t *testing.T) string { return pathOf(t, builtWithFaultpoints) }

// shipped has processes that tests start be of the program as it is shipped, which begins in
// half the time of the test binary: that one holds all that tests need besides. The race
// detector looks for races in them, so there they stay of the test binary.
var shipped = sync.OnceValue(func() error {
	hooked, err := exec.LookPath("assetferry")
	if err != nil {
		return err
	}
	hookedDir = filepath.Dir(hooked)
	if longtest.Raced || usertest.IsApart() {
		return nil
	}
	program, err := builtProgram()
	if err != nil {
		return err
	}
	return os.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
})

// hookedDir is where the test binary is called assetferry, and does what testEnv says.
var hookedDir string

// linkProgram puts an assetferry as it is shipped at a path.
func linkProgram(t *testing.T, at string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(at), 0o700)
	if err == nil {
		err = os.Link(pathOf(t, builtProgram), at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func pathOf(t *testing.T, built func() (string, error)) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

var (
	builtProgram         = sync.OnceValues(func() (string, error) { return build("plain") })
	builtWithFaultpoints = sync.OnceValues(func() (string, error) { return build("faultpoints", "-tags", "faultpoints") })
)

// build builds assetferry in a folder of the shared one.
func build(name string, flags ...string) (string, error) {
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, name, "assetferry")
	args := append([]string{"build", "-o", binary}, flags...)
	if out, err := exec.Command("go", append(args, "assetferry/cmd/assetferry")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

var sharedDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assetferry-tests-")
	removeShared = func() { os.RemoveAll(dir) }
	return dir, err
})

// removeShared removes what was made once the last test is over.
var removeShared = func() {}
