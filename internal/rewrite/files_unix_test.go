//go:build unix

package rewrite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assetferry/internal/test/usertest"
)

// TestReplaceReadOnly verifies that a user who may not write a file cannot replace it.
func TestReplaceReadOnly(t *testing.T) {
	usertest.Run(t, func(t *testing.T, dir string) {
		path := filepath.Join(dir, "a.html")
		writeFile(t, path, "one")
		must(t, os.Chmod(path, 0o444))
		if _, err := Replace(path, backupOf(t), to("two")); !errors.Is(err, os.ErrPermission) {
			t.Errorf("got %v", err)
		}
		onlyThese(t, dir, "a.html")
	})
}

// TestOriginalIsApart verifies that the original of a file with several hard links does not change
// when another one is written.
func TestOriginalIsApart(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a.html"), filepath.Join(dir, "b.html")
	writeFile(t, path, "one")
	must(t, os.Link(path, other))
	backup := backupOf(t)
	original, err := Replace(path, backup, to("two"))
	must(t, err)
	must(t, os.WriteFile(other, []byte("edited"), 0o600))
	if readFile(t, original) != "one" {
		t.Errorf("the original is %q", readFile(t, original))
	}
	must(t, os.Link(path, filepath.Join(dir, "c.html")))
	if _, err := Replace(path, backup, to("three")); !errors.Is(err, os.ErrExist) || readFile(t, original) != "one" {
		t.Errorf("got %v, and the original is %q", err, readFile(t, original))
	}
}

// TestRestoreWhereItWas verifies that a file that was named through a link is restored at its own
// path, even if the link has changed or the file has been deleted.
func TestRestoreWhereItWas(t *testing.T) {
	dir := t.TempDir()
	for _, release := range []string{"1", "2"} {
		writeFile(t, filepath.Join(dir, release, "a.html"), "one")
	}
	link := filepath.Join(dir, "current")
	must(t, os.Symlink("1", link))
	backup := backupOf(t)
	_, err := Replace(filepath.Join(link, "a.html"), backup, to("two"))
	must(t, err)
	must(t, os.Remove(link))
	must(t, os.Symlink("2", link))
	must(t, os.WriteFile(filepath.Join(dir, "2", "a.html"), []byte("three"), 0o600))
	restore := func() (times int, failed error) {
		for o, err := range Originals(backup.Dir()) {
			must(t, err)
			differs, err := o.Differs()
			if differs && err == nil {
				times++
				_, err = o.Restore(backupOf(t))
			}
			failed = err
		}
		return times, failed
	}
	path := filepath.Join(dir, "1", "a.html")
	for _, meanwhile := range []func(){func() {}, func() { must(t, os.Remove(path)) }} {
		meanwhile()
		if n, err := restore(); n != 1 || err != nil || readFile(t, path) != "one" || readFile(t, filepath.Join(dir, "2", "a.html")) != "three" {
			t.Errorf("%d restored (%v)", n, err)
		}
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != 0o640 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	onlyThese(t, filepath.Dir(path), "a.html")
	must(t, os.Remove(path))
	must(t, os.Symlink("../2/a.html", path))
	if n, err := restore(); n != 0 || !errors.Is(err, ErrNotRegular) {
		t.Errorf("a link: %d restored (%v)", n, err)
	}
}

// TestOriginalsBehindALink verifies that a link to a backup is accepted.
func TestOriginalsBehindALink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	path, backup := filepath.Join(dir, "a.html"), backupOf(t)
	writeFile(t, path, "one")
	_, err = Replace(path, backup, to("two"))
	must(t, err)
	link := filepath.Join(t.TempDir(), "last")
	must(t, os.Symlink(backup.Dir(), link))
	n := 0
	for o, err := range Originals(link) {
		must(t, err)
		if n++; o.Path != path {
			t.Errorf("the original of %s, not of %s", o.Path, path)
		}
	}
	if n != 1 {
		t.Errorf("%d originals, want 1", n)
	}
}

// TestBackupBehindADanglingLink verifies that a backup folder that is a broken link is refused.
func TestBackupBehindADanglingLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "site", "a.html"), filepath.Join(dir, "link")
	writeFile(t, path, "one")
	must(t, os.Symlink(filepath.Join(dir, "site", "later"), link))
	b, err := NewBackup(filepath.Join(link, "deep"), time.Now())
	must(t, err)
	if inside, err := b.IsWithin(filepath.Dir(path)); err == nil {
		t.Errorf("it is inside: %v", inside)
	}
	if _, err := Replace(path, b, to("two")); !errors.Is(err, os.ErrNotExist) || readFile(t, path) != "one" {
		t.Errorf("got %v, and the file is %q", err, readFile(t, path))
	}
	onlyThese(t, filepath.Dir(path), "a.html")
}
