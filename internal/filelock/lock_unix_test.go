//go:build unix

package filelock

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestReleasedWhileAChildHasTheFile verifies that Release works while a child process has the open
// file, as between fork and exec.
func TestReleasedWhileAChildHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	first, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(first.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(child)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := Acquire(path)
	if err != nil {
		t.Fatalf("after Release: %v", err)
	}
	second.Release()
}
