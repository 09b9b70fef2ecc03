//go:build unix

package rclone

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketFolder(t *testing.T) {
	environ := environment(t)
	f, err := newSocketFolder(environ)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSocketFolder(environ) // removes no folder of a living process
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.path); err != nil {
		t.Errorf("the folder of a living process: %v", err)
	}
	if err := other.remove(); err != nil {
		t.Error(err)
	}
	if err := f.lock.Release(); err != nil { // as the system does when a process dies
		t.Error(err)
	}
	removeStale(filepath.Dir(f.path))
	if _, err := os.Stat(f.path); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead process: %v", err)
	}
}

// TestLongRuntimeFolder verifies that the path of a socket is never too long for the system.
func TestLongRuntimeFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if base := socketBase([]string{"XDG_RUNTIME_DIR=" + long, "TMPDIR=" + long}); base != "/tmp" {
		t.Errorf("base is %s", base)
	}
	if base := socketBase([]string{"XDG_RUNTIME_DIR=/missing", "TMPDIR=relative"}); base != "/tmp" {
		t.Errorf("base is %s", base)
	}
}
