//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assetferry/internal/private"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// stateIn creates a state database in a folder, with a backup next to it.
func stateIn(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "state.db")
	s, err := Open(t.Context(), path)
	must(t, err)
	_, err = s.Backup(t.Context())
	must(t, err)
	must(t, s.Close())
	return path
}

// TestClosedToOthers verifies that Secure removes the permissions of other users from all files of
// a state database.
func TestClosedToOthers(t *testing.T) {
	path := stateIn(t, t.TempDir())
	var opened []string
	for _, file := range disk.Files(path) {
		info, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(t, err)
		must(t, os.Chmod(file, info.Mode().Perm()|0o066))
		opened = append(opened, file)
	}
	if len(opened) < 5 {
		t.Fatalf("there are only %v", opened)
	}
	repaired, err := ownership.Secure(path)
	must(t, err)
	if !slices.Equal(repaired, opened) {
		t.Errorf("repaired %v, want %v", repaired, opened)
	}
	for _, file := range opened {
		if info, err := os.Lstat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	if repaired, err := ownership.Secure(path); err != nil || len(repaired) > 0 {
		t.Errorf("once more: %v, %v", repaired, err)
	}
	must(t, os.Chmod(path, 0o666))
	s, err := Open(t.Context(), path) // Open does the same without a call of Secure
	must(t, err)
	must(t, s.Close())
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after Open: %v, %v", info.Mode(), err)
	}
}

// TestReadingClosesToOthers verifies that opening a state database for reading removes these
// permissions, too.
func TestReadingClosesToOthers(t *testing.T) {
	path := stateIn(t, t.TempDir())
	beside := disk.BackupPath(path)
	for _, file := range []string{path, beside} {
		must(t, os.Chmod(file, 0o666))
	}
	if repaired, err := ownership.SecureRead(path); err != nil || !slices.Equal(repaired, []string{path, beside}) {
		t.Errorf("repaired %v, %v", repaired, err)
	}
	must(t, os.Chmod(path, 0o666))
	s, err := OpenReadOnly(t.Context(), path)
	must(t, err)
	must(t, s.Close())
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after OpenReadOnly: %v, %v", info.Mode(), err)
	}
	if repaired, err := ownership.SecureRead(filepath.Join(t.TempDir(), "none.db")); err != nil || repaired != nil {
		t.Errorf("none: %v, %v", repaired, err)
	}
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*private.Error](err)
	return ok
}

// TestSharedFolder verifies that a state database in a folder that other users may write is neither
// written nor read: they could have created it.
func TestSharedFolder(t *testing.T) {
	dir := t.TempDir()
	path := stateIn(t, dir)
	for _, mode := range []os.FileMode{0o777, os.ModeSticky | 0o777} {
		must(t, os.Chmod(dir, mode))
		_, opened := Open(t.Context(), path)
		_, read := OpenReadOnly(t.Context(), path)
		if taken := Takeover(t.Context(), path); !isRefused(opened) || !isRefused(read) || !isRefused(taken) || !isRefused(ownership.CheckPlace(path)) {
			t.Errorf("%v: got %v, %v, %v", mode, opened, read, taken)
		}
		s, err := Open(t.Context(), filepath.Join(dir, mode.String(), "state.db")) // as the hint advises
		must(t, err)
		must(t, s.Close())
	}
	must(t, os.Chmod(dir, 0o755))
	s, err := Open(t.Context(), path)
	must(t, err)
	must(t, s.Close())
}

// TestAnotherAccount verifies that a state database of another account is refused, as is one next
// to a file of another account. Root may read it if no other process could have written it.
func TestAnotherAccount(t *testing.T) {
	if os.Geteuid() != 0 { // the tests of internal/private cover other accounts
		if _, err := private.File("/etc/passwd", "--state"); !isRefused(err) {
			t.Errorf("got %v", err)
		}
		return
	}
	dir := t.TempDir()
	path := stateIn(t, dir)
	for _, file := range []string{path, path + disk.WALSuffix, path + disk.LockSuffix, path + "-journal", disk.BackupPath(path)} {
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			must(t, os.WriteFile(file, nil, 0o600))
			defer os.Remove(file)
		}
		must(t, os.Chown(file, 65534, 65534))
		if _, err := Open(t.Context(), path); !isRefused(err) {
			t.Errorf("%s: got %v", file, err)
		}
		must(t, os.Chown(file, 0, 0))
	}
	must(t, os.Chown(path, 65534, 65534))
	must(t, os.Chown(dir, 65534, 65534))
	s, err := OpenReadOnly(t.Context(), path)
	must(t, err)
	must(t, s.Close())
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info.Mode(), err)
	}
	must(t, os.Chmod(path, 0o640)) // others may read it, and root leaves it to its owner
	s, err = OpenReadOnly(t.Context(), path)
	must(t, err)
	must(t, s.Close())
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file of another account is %v now, %v", info.Mode(), err)
	}
	must(t, os.Chmod(path, 0o666))
	if _, err := OpenReadOnly(t.Context(), path); !isRefused(err) {
		t.Errorf("open to all: got %v", err)
	}
	must(t, os.Chmod(path, 0o600))
	must(t, os.Chown(dir, 65533, 65533))
	if _, err := OpenReadOnly(t.Context(), path); !isRefused(err) {
		t.Errorf("in a folder of a third: got %v", err)
	}
}
