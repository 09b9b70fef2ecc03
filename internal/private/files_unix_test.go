//go:build unix

package private

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// write creates a file with permissions that do not depend on the umask.
func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// theirs returns a file of another account. Without the permission to change the owner it is a file
// of root.
func theirs(t *testing.T, dir string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/etc/passwd"
	}
	path := write(t, filepath.Join(dir, "theirs"), "theirs", 0o666)
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenFilesAreClosedToOthers(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "a"), "a", 0o664)
	for _, want := range []bool{true, false} {
		if repaired, err := File(path, "--state"); err != nil || repaired != want || modeOf(t, path) != 0o600 {
			t.Errorf("repaired %v, %v, now %v; want %v", repaired, err, modeOf(t, path), want)
		}
	}
	if err := os.Symlink(path, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	_, err := File(filepath.Join(dir, "link"), "--state")
	refused(t, err, "neither a file nor a folder")
	them := theirs(t, dir)
	before := modeOf(t, them)
	_, err = File(them, "--state")
	refused(t, err, "belongs to account")
	if modeOf(t, them) != before {
		t.Errorf("the file of another account has other permissions now")
	}
}

func TestSharedFolder(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[os.FileMode]string{0o700: "", 0o755: "", 0o777: "all accounts", os.ModeSticky | 0o777: "all accounts"} {
		chmod(t, dir, mode)
		refused(t, Folder(dir, "--state "+dir+"/private/a.db"), want)
	}
}

// TestNoFolder verifies that the error for a path that is no folder does not advise to change its
// permissions.
func TestNoFolder(t *testing.T) {
	if _, isRefusal := errors.AsType[*Error](Folder(os.DevNull, "")); isRefusal || Folder(os.DevNull, "") == nil {
		t.Errorf("got %v", Folder(os.DevNull, ""))
	}
}

func TestOpenLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	for i, want := range []bool{false, true, false} {
		if i == 1 {
			chmod(t, path, 0o644)
		}
		f, repaired, err := OpenLog(path)
		if err != nil || repaired != want {
			t.Fatalf("%d: repaired %v, %v", i, repaired, err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil || modeOf(t, path) != 0o600 {
			t.Errorf("%v, permissions %v", err, modeOf(t, path))
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "xxx" {
		t.Errorf("got %q, %v", text, err)
	}
	f, _, err := OpenLog(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestOpenLogRefuses verifies that a log file is not written to a place that another user chose.
func TestOpenLogRefuses(t *testing.T) {
	dir := t.TempDir()
	victim := write(t, filepath.Join(dir, "victim"), "victim", 0o644)
	make := func(name string, how func(path string) error) string {
		path := filepath.Join(dir, name)
		if err := how(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		make("link", func(p string) error { return os.Symlink(victim, p) }):                       "symbolic link",
		make("dangling", func(p string) error { return os.Symlink(filepath.Join(dir, "no"), p) }): "symbolic link",
		make("pipe", func(p string) error { return syscall.Mkfifo(p, 0o600) }):                    "not a regular file",
		make("folder", func(p string) error { return os.Mkdir(p, 0o700) }):                        "not a regular file",
		theirs(t, dir): "belongs to account",
	} {
		_, _, err := OpenLog(path)
		refused(t, err, want)
	}
	if _, err := os.Lstat(filepath.Join(dir, "no")); err == nil {
		t.Error("a link that leads nowhere was followed")
	}
	if err := os.Link(victim, filepath.Join(dir, "second")); err != nil {
		t.Fatal(err)
	}
	chmod(t, dir, os.ModeSticky|0o777)
	_, _, err := OpenLog(filepath.Join(dir, "second"))
	refused(t, err, "several hard links")
	if text, err := os.ReadFile(victim); err != nil || string(text) != "victim" || modeOf(t, victim) != 0o644 {
		t.Errorf("the file that was led to is %q, %v", text, err)
	}
}

func TestHintOfALink(t *testing.T) {
	dir := t.TempDir()
	to := write(t, filepath.Join(dir, "to.log"), "", 0o600)
	if err := os.Symlink(to, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	_, _, err := OpenLog(filepath.Join(dir, "link"))
	if e, ok := err.(*Error); !ok || !strings.HasSuffix(e.Try, "/to.log") {
		t.Errorf("got %v", err)
	}
}
