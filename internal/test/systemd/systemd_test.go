//go:build systemd

// Package systemd makes systemd read the units that the built program writes. It verifies that
// systemd finds no mistake and understands every value as intended.
//
//	go test -tags systemd ./internal/test/systemd
package systemd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assetferry/internal/test/built"
)

// manager is the system's service manager. With --test it reads units and prints their settings,
// and starts none.
const manager = "/lib/systemd/systemd"

// worst is the highest accepted exposure of a service, in tenths of systemd's scale.
const worst = "25"

// A bench is a directory with the program, a library and a configuration.
type bench struct {
	*testing.T
	dir, program string
	env          []string
}

// newBench returns a bench in a folder of a name.
func newBench(t *testing.T, name string) *bench {
	t.Helper()
	b := &bench{T: t, dir: filepath.Join(t.TempDir(), name)}
	b.program = built.Program(t, filepath.Join(b.dir, "bin"))
	b.env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH")}
	for _, dir := range []string{"photos", "units", "run", ".local/state/assetferry"} {
		b.must(os.MkdirAll(filepath.Join(b.dir, dir), 0o755))
	}
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// configure writes a configuration with one job.
func (b *bench) configure(destination, job string) {
	b.Helper()
	text := "to: production\ndestinations:\n  production:\n    url: https://api.ckbox.io\n    environment: e1\n" + destination +
		"jobs:\n  nightly:\n    source: photos\n" + job
	b.must(os.WriteFile(filepath.Join(b.dir, "assetferry.yaml"), []byte(text), 0o600))
}

// schedule writes the units, and returns the output of the command.
func (b *bench) schedule(args ...string) string {
	b.Helper()
	var notes bytes.Buffer
	c := exec.Command(b.program, append([]string{"schedule", "--output", "units"}, args...)...)
	c.Dir, c.Env, c.Stderr = b.dir, b.env, &notes
	if err := c.Run(); err != nil {
		b.Fatalf("%v\n%s", err, &notes)
	}
	return notes.String()
}

// units returns the files that were written.
func (b *bench) units() []string {
	b.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, "units"))
	b.must(err)
	var units []string
	for _, e := range entries {
		units = append(units, filepath.Join(b.dir, "units", e.Name()))
	}
	if len(units) != 2 {
		b.Fatalf("the units are %q", units)
	}
	return units
}

// verify makes systemd search the units for mistakes.
func (b *bench) verify(own bool) {
	b.Helper()
	args := []string{"verify", "--man=no"}
	if own {
		args = append(args, "--user")
	}
	c := exec.Command("systemd-analyze", append(args, b.units()...)...)
	c.Env = append(b.env, "XDG_RUNTIME_DIR="+filepath.Join(b.dir, "run"))
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		b.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// judge makes systemd rate the exposure of the service.
func (b *bench) judge() {
	b.Helper()
	c := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+worst, b.units()[0])
	if out, err := c.CombinedOutput(); err != nil {
		b.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// A reading is the manager's output for a unit: the lines by setting.
type reading map[string][]string

// read makes the manager read the service.
func (b *bench) read() reading {
	b.Helper()
	name := filepath.Base(b.units()[0])
	c := exec.Command(manager, "--system", "--test", "--unit="+name)
	c.Env = []string{"HOME=/", "XDG_RUNTIME_DIR=" + filepath.Join(b.dir, "run"), "SYSTEMD_UNIT_PATH=" + filepath.Join(b.dir, "units") + ":"}
	b.asUnprivileged(c)
	out, err := c.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	_, rest, found := strings.Cut(string(out), "-> Unit "+name+":\n")
	if !found {
		b.Fatalf("the manager does not tell of %s:\n%s", name, out)
	}
	rest, _, _ = strings.Cut(rest, "\n\t-> Unit ")
	r := reading{}
	for line := range strings.Lines(rest) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			r[key] = append(r[key], value)
		}
	}
	return r
}

// asUnprivileged makes a command run as an account that is not root, as the manager requires.
func (b *bench) asUnprivileged(c *exec.Cmd) {
	b.Helper()
	if os.Getuid() != 0 {
		return
	}
	const unprivileged = 65534
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	b.must(os.Chown(filepath.Join(b.dir, "run"), unprivileged, unprivileged))
	for dir := b.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		b.must(os.Chmod(dir, 0o755))
	}
}

// command returns the command line that the manager would start.
func (b *bench) command(r reading) []string {
	b.Helper()
	lines := r["Command Line"]
	if len(lines) != 1 {
		b.Fatalf("the manager would start %q", lines)
	}
	// The manager prints words quoted for a shell, and replaces "$$" with "$" when it starts them.
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+lines[0]).Output()
	b.must(err)
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "$$", "$")
	}
	return words
}

func (b *bench) expect(r reading, key, want string) {
	b.Helper()
	if got := r[key]; !slices.Contains(got, want) {
		b.Errorf("%s is %q, want %q", key, got, want)
	}
}

func TestJob(t *testing.T) {
	b := newBench(t, "plain")
	b.configure("    access_key_file: production.key\n", "    max_duration: 5h\n")
	b.schedule("--job", "nightly", "--at", "03:15")
	b.verify(false)
	b.judge()
	r := b.read()
	want := []string{b.program, "sync", "--job", "nightly", "--config", filepath.Join(b.dir, "assetferry.yaml")}
	if got := b.command(r); !slices.Equal(got, want) {
		t.Errorf("it would start %q, want %q", got, want)
	}
	b.expect(r, "Type", "oneshot")
	b.expect(r, "TimeoutStartSec", "6h")
	b.expect(r, "LimitCORE", "0")
	b.expect(r, "ProtectSystem", "strict")
	b.expect(r, "ReadWritePaths", b.dir+"/.local/state/assetferry /tmp /var/tmp") // the temporary folders, because this test is in one
	b.expect(r, "RequiresMountsFor", b.dir+"/photos (origin-file)")
	if slices.Contains(r["PrivateTmp"], "yes") {
		t.Error("it would not see what is below /tmp")
	}
}

// TestNames verifies units whose names contain characters that are difficult to quote.
func TestNames(t *testing.T) {
	b := newBench(t, `it's 100% "our" $HOME; \t ü`)
	b.program = filepath.Join(b.dir, "bin", "assetferry")
	link := filepath.Join(t.TempDir(), "asset ferry 100% $HOME")
	b.must(os.Symlink(b.program, link)) // systemd accepts no quotes in the path of a program
	b.program = link
	b.env = append(b.env, "ASSETFERRY_URL=https://api.ckbox.io", "ASSETFERRY_ENVIRONMENT_ID=e1", "ASSETFERRY_ACCESS_KEY=geheim", `ASSETFERRY_USER_ID=100% "me" $HOME \`)
	notes := b.schedule("photos", "--state", "the state.db", "--service", "a;b", "--allow-http", "--exclude", `100% "$HOME" ü/\o`)
	b.verify(false)
	r := b.read()
	want := []string{b.program, "sync", b.dir + "/photos", "--state=" + b.dir + "/the state.db", "--service=a;b", `--exclude=100% "$HOME" ü/\o`, "--allow-http"}
	if got := b.command(r); !slices.Equal(got, want) {
		t.Errorf("it would start %q,\nwant %q", got, want)
	}
	b.expect(r, "Environment", `ASSETFERRY_USER_ID=100% "me" $HOME \`)
	b.expect(r, "Environment", "ASSETFERRY_ENVIRONMENT_ID=e1")
	if file := strings.Join(r["EnvironmentFile"], " "); !regexp.MustCompile(`^/etc/assetferry/photos-[0-9a-f]{8}\.env$`).MatchString(file) {
		t.Errorf("EnvironmentFile is %q", file)
	}
	b.expect(r, "WorkingDirectory", b.dir)
	b.expect(r, "ReadWritePaths", b.dir+" /tmp /var/tmp")
	b.expect(r, "RequiresMountsFor", b.dir+"/photos (origin-file)")
	if !strings.Contains(notes, "does not inherit ASSETFERRY_ACCESS_KEY") || strings.Contains(notes, "geheim") {
		t.Errorf("the output:\n%s", notes)
	}
	for _, unit := range b.units() {
		text, err := os.ReadFile(unit)
		b.must(err)
		if bytes.Contains(text, []byte("geheim")) {
			t.Errorf("a secret is in %s", unit)
		}
	}
}

func TestOwnUnits(t *testing.T) {
	b := newBench(t, "my own")
	b.configure("    access_key_command: pass show assetferry\n", "    log_file: nightly.log\n")
	if notes := b.schedule("--job", "nightly", "--user-unit"); !regexp.MustCompile(`systemctl --user enable --now assetferry-nightly-[0-9a-f]{8}.timer`).MatchString(notes) {
		t.Errorf("the output:\n%s", notes)
	}
	b.verify(true)
}

func TestBucketToSandbox(t *testing.T) {
	b := newBench(t, "bucket")
	b.must(os.MkdirAll(filepath.Join(b.dir, ".local/share/assetferry/sandbox"), 0o755))
	b.env = append(b.env, "AWS_PROFILE=library", "AWS_SECRET_ACCESS_KEY=geheim", "HTTPS_PROXY=http://me:geheim@proxy.example.com")
	if notes := b.schedule("s3://photos/2026", "--to", "sandbox"); strings.Contains(notes, "geheim") {
		t.Errorf("the output:\n%s", notes)
	}
	b.verify(false)
	r := b.read()
	want := []string{b.program, "sync", "s3://photos/2026", "--to=sandbox"}
	if got := b.command(r); !slices.Equal(got, want) {
		t.Errorf("it would start %q, want %q", got, want)
	}
	b.expect(r, "Environment", "AWS_PROFILE=library")
	if reported := fmt.Sprint(r); strings.Contains(reported, "geheim") {
		t.Errorf("a secret is printed:\n%s", reported)
	}
}

// TestStarted starts the program as systemd would, as far as possible without it: with the exact
// command line, in another folder and without our environment.
func TestStarted(t *testing.T) {
	b := newBench(t, "my library")
	b.must(os.WriteFile(filepath.Join(b.dir, "photos", "harbour.txt"), []byte("harbour"), 0o600))
	b.must(os.WriteFile(filepath.Join(b.dir, "assetferry.yaml"), []byte("to: sandbox\njobs:\n  nightly: {source: photos, unsupported: create, state: nights/state.db}\n"), 0o600))
	if notes := b.schedule("--job", "nightly"); !strings.Contains(notes, "mkdir -p -m 700 '"+b.dir+"/nights'") {
		t.Errorf("the output:\n%s", notes)
	}
	b.must(os.Mkdir(filepath.Join(b.dir, "nights"), 0o700))
	r := b.read()
	command, env := b.command(r), r["Environment"]
	for _, want := range []string{"1 uploaded", "1 unchanged"} {
		c := exec.Command(command[0], command[1:]...)
		c.Dir, c.Env = "/", env
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, and not %s:\n%s", command, err, want, out)
		}
	}
}

// TestCredentials verifies that systemd reads from the unit which secrets to pass as files. To pass
// them needs a running systemd.
func TestCredentials(t *testing.T) {
	b := newBench(t, `it's 100% "our" $HOME; ü`)
	program := filepath.Join(t.TempDir(), "assetferry")
	b.must(os.Symlink(b.program, program))
	b.program = program
	b.env = append(b.env, "ASSETFERRY_NOTIFY=https://hooks.example.com/geheim")
	b.must(os.WriteFile(filepath.Join(b.dir, "production.key"), []byte("geheim"), 0o600))
	b.configure("    access_key_file: production.key\n", "")
	for _, own := range []bool{false, true} {
		args := []string{"--job", "nightly", "--load-credential"}
		if own {
			args = append(args, "--user-unit")
		}
		b.schedule(args...)
		b.verify(own)
		text, err := os.ReadFile(b.units()[0])
		b.must(err)
		if want := "\nLoadCredential=access_key:" + strings.ReplaceAll(b.dir, "%", "%%") + "/production.key\n"; !strings.Contains(string(text), want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
		for _, unit := range b.units() {
			b.must(os.Remove(unit))
		}
	}
	b.schedule("--job", "nightly", "--load-credential")
	b.judge()
	env := strings.Join(b.read()["Environment"], "\n")
	for _, id := range []string{"ASSETFERRY_ACCESS_KEY_FILE=/run/credentials/%s/access_key", "ASSETFERRY_NOTIFY_FILE=/run/credentials/%s/notify"} {
		if want := fmt.Sprintf(id, filepath.Base(b.units()[0])); !strings.Contains(env, want) {
			t.Errorf("%s is not in\n%s", want, env)
		}
	}
}

// TestTimes verifies that systemd accepts the times of the schedule.
func TestTimes(t *testing.T) {
	b := newBench(t, "times")
	b.configure("    token_command: sign\n", "")
	for _, at := range []string{"00:00", "04:30", "23:59"} {
		b.schedule("--job", "nightly", "--at", at)
		b.verify(false)
		timer, err := os.ReadFile(b.units()[1])
		b.must(err)
		if want := "\nOnCalendar=*-*-* " + at + ":00\n"; !strings.Contains(string(timer), want) {
			t.Errorf("%s is not in %s", want, timer)
		}
	}
}
