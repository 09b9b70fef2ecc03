//go:build unix

package approvers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// otherUser is the account whose access is checked.
const otherUser = 65534

// TestReachHelper runs in a process that TestOutOfReach starts.
func TestReachHelper(t *testing.T) {
	if file := os.Getenv("ASSETFERRY_TEST_REACH"); file != "" {
		if err := OutOfReach(file); err != nil {
			t.Fatal(err)
		}
	}
}

// reach calls OutOfReach for a file, as another account if this is root, for which it always fails.
func reach(t *testing.T, file string) string {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestReachHelper$")
	c.Env = append(os.Environ(), "ASSETFERRY_TEST_REACH="+file)
	c.Dir = "/"
	if os.Geteuid() == 0 {
		// Only root may have access to the folder of the test binary.
		binary := filepath.Join(t.TempDir(), "reach")
		text, err := os.ReadFile(os.Args[0])
		must(t, err)
		must(t, os.WriteFile(binary, text, 0o755))
		open(t, filepath.Dir(binary))
		c.Path = binary
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	}
	out, err := c.CombinedOutput()
	if err == nil {
		return ""
	}
	return string(out)
}

// open gives all accounts access to a folder of a test and the folders above it.
func open(t *testing.T, dir string) {
	t.Helper()
	for ; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
}

// For root, the test checks the access of another account: protected files are accepted, and each way to
// change one is found. For other accounts, all files of the test belong to the account and are refused.
func TestOutOfReach(t *testing.T) {
	root := os.Geteuid() == 0
	base := t.TempDir()
	open(t, base)
	file := func(name string) string {
		path := filepath.Join(base, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte("x"), 0o644))
		return path
	}
	for _, c := range []struct {
		name string
		make func() string
		want string // for files of root; empty: accepted
	}{
		{"a file of root", func() string { return file("a/approvers") }, ""},
		{"through a link of root", func() string {
			to := file("b/approvers")
			must(t, os.Symlink(to, filepath.Join(base, "b/link")))
			return filepath.Join(base, "b/link")
		}, ""},
		{"in a folder like /tmp", func() string {
			path := file("c/approvers")
			must(t, os.Chmod(filepath.Dir(path), 0o777|os.ModeSticky))
			return path
		}, ""},
		{"a file that all may write", func() string { path := file("d/approvers"); must(t, os.Chmod(path, 0o666)); return path }, "d/approvers is writable"},
		{"a file of its group", func() string {
			path := file("e/approvers")
			if root {
				must(t, os.Chown(path, 0, otherUser))
			}
			must(t, os.Chmod(path, 0o664))
			return path
		}, "e/approvers is writable"},
		{"a file of its own", func() string {
			path := file("f/approvers")
			if root {
				must(t, os.Chown(path, otherUser, 0))
			}
			must(t, os.Chmod(path, 0o444))
			return path
		}, "f/approvers belongs to it"},
		{"a folder that all may write", func() string {
			path := file("g/approvers")
			must(t, os.Chmod(filepath.Dir(path), 0o777))
			return path
		}, "/g is writable"},
		{"a folder farther up", func() string {
			path := file("h/i/j/approvers")
			must(t, os.Chmod(filepath.Join(base, "h"), 0o777))
			return path
		}, "/h is writable"},
		{"a folder of its own", func() string {
			path := file("k/approvers")
			if root {
				must(t, os.Chown(filepath.Dir(path), otherUser, 0))
			}
			return path
		}, "/k belongs to it"},
		{"a link of its own in a folder like /tmp", func() string {
			to := file("l/m/approvers")
			must(t, os.Chmod(filepath.Join(base, "l"), 0o777|os.ModeSticky))
			link := filepath.Join(base, "l/link")
			must(t, os.Symlink(to, link))
			if root {
				must(t, os.Lchown(link, otherUser, 0))
			}
			return link
		}, "l/link belongs to it"},
		{"a link to a file that it may write", func() string {
			to := file("n/o/approvers")
			must(t, os.Chmod(to, 0o666))
			must(t, os.Symlink("o/approvers", filepath.Join(base, "n/link")))
			return filepath.Join(base, "n/link")
		}, "o/approvers is writable"},
		{"links without end", func() string {
			must(t, os.MkdirAll(filepath.Join(base, "p"), 0o755))
			must(t, os.Symlink("loop", filepath.Join(base, "p/loop")))
			return filepath.Join(base, "p/loop")
		}, "symbolic links"},
		{"a file that is not there", func() string { return filepath.Join(base, "none") }, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reach(t, c.make())
			switch {
			case !root && (got == "" || !strings.Contains(got, "belongs to it")):
				t.Errorf("got %q, and it is all of this account", got)
			case root && (got == "") != (c.want == ""), root && !strings.Contains(got, c.want):
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Root can change any file.
func TestOutOfReachOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		if err := OutOfReach("/etc/passwd"); runtime.GOOS == "linux" && err != nil {
			t.Errorf("a file of the system: %v", err)
		}
		return
	}
	err := OutOfReach("/etc/passwd")
	if _, ok := errors.AsType[*ReachError](err); !ok || !strings.Contains(err.Error(), "runs as root") {
		t.Errorf("got %v", err)
	}
}
