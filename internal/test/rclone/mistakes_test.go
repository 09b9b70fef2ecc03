//go:build rclone

package rclone

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// ordinary is the account of these tests if they run as root, who may write everywhere.
const ordinary = 65534

// An account is an ordinary account with a folder of its own, and programs that it can run.
type account struct {
	testing.TB
	dir                string // kept when the machine starts, unlike /tmp
	assetferry, rclone string
}

// newFolder returns a folder that every account can enter.
func newFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "af")
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(tb, os.Chmod(dir, 0o755))
	return dir
}

// provide runs a command that makes a program.
func provide(tb testing.TB, args ...string) {
	tb.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		tb.Fatalf("%q: %v: %s", args, err, out)
	}
}

// newAccount returns an account with two remotes in the configuration of rclone.
func newAccount(tb testing.TB, assetferry, rclone string) account {
	tb.Helper()
	a := account{tb, newFolder(tb), assetferry, rclone}
	must(tb, errors.Join(os.Mkdir(a.path("tmp"), 0o755), os.Mkdir(a.path("photos"), 0o755), os.WriteFile(a.path("photos/a.txt"), []byte("a"), 0o644), os.Mkdir(a.path("config"), 0o755)))
	must(tb, os.WriteFile(a.path("config/rclone.conf"), []byte("[library]\ntype = local\n\n[cloud]\ntype = local\ntoken = {\"access_token\":\"not-real\"}\n"), 0o600))
	a.owns()
	return a
}

func (a account) path(name string) string { return filepath.Join(a.dir, filepath.FromSlash(name)) }

// owns makes the account the owner of its folder.
func (a account) owns() {
	a.Helper()
	must(a, os.Chmod(a.dir, 0o700))
	if os.Geteuid() == 0 {
		must(a, filepath.WalkDir(a.dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, ordinary, ordinary))
		}))
	}
}

// run runs a program as the account, and returns its output and exit code.
func (a account) run(program string, args ...string) (output string, code int) {
	a.Helper()
	c := exec.Command(program, args...)
	c.Dir = a.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.dir, "XDG_STATE_HOME=" + a.dir, "XDG_DATA_HOME=" + a.dir, "TMPDIR=" + a.path("tmp"),
		"RCLONE_CONFIG=" + a.path("config/rclone.conf"), "ASSETFERRY_RCLONE=" + a.rclone}
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
	out, err := c.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		a.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// A mistake is what a user did to the configuration, and what the commands say about it.
type mistake struct {
	name  string
	make  func(account) error
	saves bool // rclone can store renewed tokens

	migrateCode, doctorCode int
	migrates, doctorSays    string // patterns for a remote with a token
	needless                string // pattern of doctor for a remote without one; "" for the same
}

const storedToken = `rclone can store renewed tokens in it`

func mistakes() []mistake {
	chmod := func(name string, mode fs.FileMode) func(account) error {
		return func(a account) error { return os.Chmod(a.path(name), mode) }
	}
	const unreadable = `the configuration of rclone cannot be read: .*permission denied.*Try: check the file and its permissions; rclone config file prints its path`
	return []mistake{
		{"none", func(account) error { return nil }, true, 0, 0, `1 uploaded`, storedToken, ""},
		{"locked by another program", lock, true, 0, 0, `1 uploaded`, storedToken, ""},
		{"read-only file", chmod("config/rclone.conf", 0o400), true, 0, 0, `1 uploaded`, storedToken, ""},
		{"read-only folder", chmod("config", 0o500), false, 0, 0,
			`rclone cannot store renewed tokens, so a later run may be refused: .*rclone.conf: rclone replaces the file, but the folder is not writable: permission denied; make the folder .*config writable for this account.*1 uploaded`,
			`rclone cannot store renewed tokens: .*the folder is not writable: permission denied.*make the folder .*config writable for this account`,
			`the remote has no token that rclone renews, so it need not be writable`},
		{"unreadable file", chmod("config/rclone.conf", 0), true, 1, 1, unreadable, unreadable, ""},
		{"unreadable folder", chmod("config", 0), false, 1, 1, unreadable, unreadable, ""},
		{"no file", func(a account) error { return os.Remove(a.path("config/rclone.conf")) }, true, 1, 1,
			`didn't find section in config file.*Try: list the remotes with rclone listremotes`,
			`didn't find section in config file.*list the remotes with rclone listremotes.*there is none, so variables or SOURCE define the remote`, ""},
	}
}

// lock holds a lock of the configuration, as an editor does, until the end of the test.
func lock(a account) error {
	f, err := os.Open(a.path("config/rclone.conf"))
	if err != nil {
		return err
	}
	a.Cleanup(func() { _ = f.Close() })
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// TestMistakesWithConfigurations makes the mistakes of an ordinary account, and compares what migrate and
// doctor say with what rclone itself can do.
func TestMistakesWithConfigurations(t *testing.T) {
	dir := newFolder(t)
	assetferry := filepath.Join(dir, "assetferry")
	provide(t, "go", "build", "-o", assetferry, "assetferry/cmd/assetferry")
	for _, p := range programs(t) {
		t.Run(p.Version.String(), func(t *testing.T) {
			program := filepath.Join(newFolder(t), "rclone")
			provide(t, "cp", p.Path, program) // it may be in a folder of root
			for _, m := range mistakes() {
				t.Run(m.name, func(t *testing.T) { m.verify(newAccount(t, assetferry, program)) })
			}
		})
	}
}

func (m mistake) verify(a account) {
	must(a, m.make(a))
	cloud, library := "rclone:cloud:"+a.path("photos"), "rclone:library:"+a.path("photos")
	expect := func(code int, pattern string, args ...string) {
		a.Helper()
		out, got := a.run(a.assetferry, args...)
		if text := strings.Join(strings.Fields(out), " "); got != code || !regexp.MustCompile(pattern).MatchString(text) || strings.Contains(out, "not-real") {
			a.Errorf("%s: exit code %d, want %d and %q:\n%s", args[0], got, code, pattern, out)
		}
	}
	expect(m.migrateCode, m.migrates, "migrate", cloud, "--to", "sandbox", "--unsupported", "create", "--fallback-category", "Files")
	expect(m.doctorCode, m.doctorSays, "doctor", cloud, "--to", "sandbox", "--verbose")
	if m.needless != "" {
		expect(m.doctorCode, m.needless, "doctor", library, "--to", "sandbox", "--verbose")
		if out, code := a.run(a.assetferry, "plan", library, "--to", "sandbox", "--unsupported", "skip"); code != 0 || strings.Contains(out, "renewed tokens") {
			a.Errorf("plan of a remote without a token: exit code %d:\n%s", code, out)
		}
	}
	if m.migrateCode == 0 {
		must(a, m.saved(a))
	}
}

// saved returns an error if rclone stores a change, and should not, or the other way round.
func (m mistake) saved(a account) error {
	out, _ := a.run(a.rclone, "config", "create", "added", "memory", "--low-level-retries", "1")
	content, err := os.ReadFile(a.path("config/rclone.conf"))
	if saves := strings.Contains(string(content), "[added]"); err != nil || saves != m.saves {
		return fmt.Errorf("rclone stores a change: %v, want %v: %w\n%s", saves, m.saves, err, out)
	}
	return nil
}
