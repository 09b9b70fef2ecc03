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

// Values that several tests need and that take long to make. They are made once.

// writeLibrary writes the demo library, with small photos, to a folder.
func writeLibrary(dir string) error {
	l, err := madeLibrary()
	if err == nil {
		_, err = l.Write(dir)
	}
	return err
}

var madeLibrary = sync.OnceValues(demo.MakeSmallLibrary)

// withFaultpoints returns the path of an assetferry that can be made to exit at a fault point.
func withFaultpoints(t *testing.T) string { return pathOf(t, builtWithFaultpoints) }

// shipped makes tests start the program as it is shipped, because it starts in half the time of the
// test binary, which contains all tests. With the race detector, the processes stay those of the
// test binary, so that it finds races in them.
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

// hookedDir is the folder in which the test binary is called assetferry; see testEnv.
var hookedDir string

// linkProgram links the program as it is shipped to a path.
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

// build builds assetferry in a subfolder of the shared folder, and returns its path.
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

// removeShared removes the shared files after the last test.
var removeShared = func() {}
