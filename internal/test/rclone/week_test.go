//go:build rclone

package rclone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/rclone"
	"assetferry/internal/test/processtest"
	"assetferry/sources"
	"assetferry/sources/sourcetest"
)

// TestScheduledWeek runs the command of schedule on seven days with changes between: that of a systemd
// unit for WebDAV and S3, and a cron line for SFTP. On each day a table says what the destination must have.
func TestScheduledWeek(t *testing.T) {
	binary := build(t, "testclock")
	for _, p := range programs(t) {
		t.Run(p.Version.String()+", WebDAV, systemd", func(t *testing.T) {
			w := newWeek(t, binary, p)
			w.source, w.scheduled = newDAVStore(t, p, w.served, w.config), systemdCommand
			w.live()
		})
		t.Run(p.Version.String()+", SFTP, cron", func(t *testing.T) {
			w := newWeek(t, binary, p)
			w.source, w.scheduled = newSSHStore(t, w.served, w.config), cronCommand
			w.live()
		})
		t.Run(p.Version.String()+", S3 with metadata, systemd", func(t *testing.T) {
			w := newWeek(t, binary, p)
			w.source, w.scheduled = newBucketStore(t, w.served, w.config), systemdCommand
			w.live()
		})
	}
}

// A store is a storage that refuses credentials after they are revoked.
type store struct {
	remote string // REMOTE:path of the library
	revoke func() // makes the present credentials invalid
	renew  func() // puts new credentials into the configuration of rclone

	// describe changes the description of an object in the storage. It is nil for storages without
	// descriptions.
	describe func(key, text string)
}

// newDAVStore serves a folder over WebDAV with a password.
func newDAVStore(t *testing.T, p rclone.Program, served, config string) store {
	t.Helper()
	newest, port, password := newest(t), processtest.FreePort(t), "first-password"
	s := &server{addr: "127.0.0.1:" + port, command: func() *exec.Cmd {
		return webDAVServer(newest, served, port, "--dir-cache-time", forget, "--user", "reader", "--pass", password)
	}}
	t.Cleanup(s.kill)
	must(t, s.start())
	renew := func() {
		obscured, err := command(p, "obscure", password).Output()
		must(t, err)
		must(t, os.WriteFile(config, []byte(webDAVConfig(port)+"user = reader\npass = "+string(obscured)), 0o600))
	}
	renew()
	return store{remote: "dav:library", renew: renew, revoke: func() {
		s.kill()
		password = "second-password"
		must(t, s.start())
	}}
}

// newSSHStore serves a folder over SFTP with a key.
func newSSHStore(t *testing.T, served, config string) store {
	t.Helper()
	keys, port := t.TempDir(), processtest.FreePort(t)
	makeKeys(t, keys, "host", "user", "next")
	s := &server{addr: "127.0.0.1:" + port, command: func() *exec.Cmd { return sshServer(t, keys, port) }}
	t.Cleanup(s.kill)
	must(t, s.start())
	must(t, os.WriteFile(config, []byte(sshConfig(keys+"/user", port)), 0o600))
	return store{remote: "ssh:" + served + "/library",
		revoke: func() { must(t, os.Rename(keys+"/next.pub", keys+"/user.pub")) },
		renew:  func() { must(t, os.WriteFile(config, []byte(sshConfig(keys+"/next", port)), 0o600)) }}
}

// newBucketStore serves a folder as a bucket, whose objects have descriptions.
func newBucketStore(t *testing.T, served, config string) store {
	t.Helper()
	newest, port, secret := newest(t), processtest.FreePort(t), "first-secret"
	s := &server{addr: "127.0.0.1:" + port, command: func() *exec.Cmd { return s3Server(newest, served, port, secret) }}
	t.Cleanup(s.kill)
	must(t, s.start())
	renew := func() { must(t, os.WriteFile(config, []byte(s3Config(port, secret)), 0o600)) }
	renew()
	call := func(args ...string) []byte {
		t.Helper()
		out, err := command(newest, append(args, "--config", config)...).Output()
		if err != nil {
			t.Fatalf("rclone %s: %v", args[0], err)
		}
		return out
	}
	return store{remote: "s3:library", renew: renew,
		revoke: func() {
			s.kill()
			secret = "second-secret"
			must(t, s.start())
		},
		describe: func(key, text string) {
			t.Helper()
			path, content := served+"/library/"+key, t.TempDir()+"/content"
			before, err := os.Stat(path)
			must(t, err)
			call("copyto", "s3:library/"+key, content)
			for changed := before.ModTime(); changed.Equal(before.ModTime()); {
				call("copyto", content, "s3:library/"+key, "--ignore-times", "--metadata", "--metadata-set", "description="+text)
				changed = uploaded(t, call("lsjson", "--metadata", "s3:library/"+key))
				must(t, os.Chtimes(path, changed, changed)) // listings of this server show the time of the file
			}
		},
	}
}

// uploaded returns the time at which the object of a listing was uploaded, in seconds.
func uploaded(t *testing.T, listing []byte) time.Time {
	t.Helper()
	var list []struct {
		Metadata struct{ BTime time.Time }
	}
	must(t, json.Unmarshal(listing, &list))
	return list[0].Metadata.BTime
}

// A week is a library, its daily sync and the content that the destination must have.
type week struct {
	*testing.T
	binary    string
	dir       string // the home of the account
	served    string // the folder that the storage serves
	config    string // the configuration of rclone
	version   rclone.Program
	disk      *disk
	source    store
	library   *destination
	scheduled func(w *week) func() *exec.Cmd
	start     func() *exec.Cmd // the command that schedule has written
	table     map[string]string
	want      map[string]stored
	moved     time.Duration // of the clock
}

func newWeek(t *testing.T, binary string, p rclone.Program) *week {
	t.Helper()
	w := &week{T: t, binary: binary, dir: t.TempDir(), served: t.TempDir(), version: p, table: map[string]string{}, want: map[string]stored{}}
	w.disk = &disk{root: w.served + "/library"}
	w.config = configFile(t, "")
	w.library = newDestination(t, binary, func() {}, w.clock)
	return w
}

// clock returns the variable that sets the clock of a process.
func (w *week) clock() []string { return []string{clock.Variable + "=" + w.moved.String()} }

// configure writes the configuration with the job, and the file of its access key.
func (w *week) configure() {
	w.Helper()
	must(w.T, os.WriteFile(w.dir+"/access.key", []byte(w.library.env.AccessKey), 0o600))
	must(w.T, os.WriteFile(w.dir+"/assetferry.yaml", fmt.Appendf(nil, `to: library
destinations:
  library: {url: %q, environment: %s, access_key_file: access.key}
rclone: %s
jobs:
  daily: {source: "rclone:%s", metadata: table.csv, delete: trash, max_delete_percent: 30}
`, w.library.url(), w.library.env.ID, w.version.Path, w.source.remote), 0o600))
}

// live runs the week.
func (w *week) live() {
	w.Helper()
	w.configure()
	w.begin()
	w.start = w.scheduled(w)
	for n, day := range []struct {
		name   string
		change func()
		exit   int
		says   string
	}{
		{"everything is new", func() {}, 0, "24 uploaded"},
		{"descriptions and contents change", w.edit, 0, ""},
		{"objects are deleted and renamed", w.deleteAndRename, 0, ""},
		{"a folder is renamed, and what was deleted is trashed", w.renameFolder, 0, ""},
		{"the password is revoked", w.revoke, 12, ""},
		{"the password is replaced", w.catchUp, 0, ""},
		{"the storage is not mounted", w.unmount, 6, ""},
		{"the folder is missing", w.lose, 1, ""},
		{"the folder is there again", w.find, 0, ""},
	} {
		day.change()
		w.writeTable()
		w.day(n, day.name, day.exit, day.says)
		w.moved += 24 * time.Hour
	}
}

// begin makes the library of the first day.
func (w *week) begin() {
	for n := range 24 {
		w.put(fmt.Sprintf("%s%02d.txt", [...]string{"", "quay/", "quay/old/", "harbour ü/"}[n%4], n), fmt.Sprintf("content of %d", n))
	}
	w.describe("00.txt", "A lighthouse")
	w.describe("quay/01.txt", "A quay")
}

func (w *week) edit() {
	w.describe("00.txt", "A lighthouse at dusk")
	w.describe("04.txt", "A boat")
	w.put("quay/old/02.txt", "other content")
	w.put("harbour ü/03.txt", "CONTENT OF 3") // of the same size
}

func (w *week) deleteAndRename() {
	w.remove("08.txt") // the asset stays for the grace period
	w.rename("quay/05.txt", "quay/renamed.txt")
	w.rename("quay/01.txt", "01 in another folder.txt") // with its description
	w.put("new.txt", "new")
}

func (w *week) renameFolder() {
	delete(w.want, "08.txt") // the grace period is over
	for _, name := range []string{"02.txt", "06.txt", "10.txt", "14.txt", "18.txt", "22.txt"} {
		w.want["quay/older/"+name] = w.want["quay/old/"+name]
		delete(w.want, "quay/old/"+name)
	}
	must(w.T, os.Rename(w.disk.root+"/quay/old", w.disk.root+"/quay/older"))
}

// revoke makes the storage refuse the run. Nothing changes at the destination.
func (w *week) revoke() {
	w.source.revoke()
	must(w.T, os.WriteFile(w.disk.path("during.txt"), []byte("while the password was revoked"), 0o600))
	w.remove("12.txt")
}

func (w *week) catchUp() {
	w.source.renew()
	w.want["during.txt"] = stored{content: "while the password was revoked"}
}

func (w *week) unmount() {
	must(w.T, os.Rename(w.disk.root, w.served+"/elsewhere"))
	must(w.T, os.Mkdir(w.disk.root, 0o700))
}

func (w *week) lose() { must(w.T, os.Remove(w.disk.root)) }

func (w *week) find() {
	must(w.T, os.Rename(w.served+"/elsewhere", w.disk.root))
	delete(w.want, "12.txt") // the run with the new password missed it first
}

// put stores an object.
func (w *week) put(key, content string) {
	w.Helper()
	must(w.T, w.disk.put(sourcetest.File{Key: sources.Key(key), Content: []byte(content)}))
	w.want[key] = stored{content, w.want[key].description}
}

// remove deletes an object. Its asset is still wanted.
func (w *week) remove(key string) {
	w.Helper()
	must(w.T, os.Remove(w.disk.path(sources.Key(key))))
	delete(w.table, key)
}

func (w *week) rename(from, to string) {
	w.Helper()
	must(w.T, os.Rename(w.disk.path(sources.Key(from)), w.disk.path(sources.Key(to))))
	w.want[to] = w.want[from]
	delete(w.want, from)
	delete(w.table, from)
	if text := w.want[to].description; text != "" {
		w.describe(to, text)
	}
}

// describe changes a description: in the storage, or in the table.
func (w *week) describe(key, text string) {
	w.Helper()
	if w.source.describe != nil {
		w.source.describe(key, text)
	} else {
		w.table[key] = text
	}
	w.want[key] = stored{w.want[key].content, text}
}

// writeTable writes the table with the descriptions.
func (w *week) writeTable() {
	w.Helper()
	text := "key,description\n"
	for key, description := range w.table {
		text += fmt.Sprintf("%q,%q\n", key, description)
	}
	must(w.T, os.WriteFile(w.dir+"/table.csv", []byte(text), 0o600))
}

// day runs the scheduled command, and compares the destination with what it must have.
func (w *week) day(n int, name string, exit int, says string) {
	w.Helper()
	w.library.moved = w.moved
	must(w.T, w.library.server.start())
	defer w.library.kill()
	cmd := w.start()
	cmd.Env = slices.Concat(cmd.Env, w.clock())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code is checked
	text := out.String() + w.log()
	if code := cmd.ProcessState.ExitCode(); code != exit || !strings.Contains(text, says) {
		w.Fatalf("day %d, %s: exit code %d, want %d and %q\n%s", n+1, name, code, exit, says, text)
	}
	w.Logf("day %d, %s: exit code %d\n%s", n+1, name, exit, text)
	wrong, _, _ := w.library.compare(w.want)
	if len(wrong) > 0 {
		w.Fatalf("day %d, %s: %s\n%s", n+1, name, strings.Join(wrong, "; "), text)
	}
	waitForNone(w.T, "RCLONE_CONFIG="+w.config)
}

// log returns the new part of the log of cron, if there is one.
func (w *week) log() string {
	w.Helper()
	found, err := filepath.Glob(w.dir + "/.local/state/assetferry/*.log")
	must(w.T, err)
	text := ""
	for _, name := range found {
		content, err := os.ReadFile(name)
		must(w.T, err)
		must(w.T, os.Truncate(name, 0))
		text += string(content)
	}
	return text
}

// schedule runs schedule for the job, and returns what it prints to stdout.
func (w *week) schedule(args ...string) string {
	w.Helper()
	cmd := exec.Command(w.binary, append([]string{"schedule", "--job", "daily"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "RCLONE_CONFIG=" + w.config}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("schedule: %v\n%s", err, &problems)
	}
	w.Logf("%s%s", out, &problems)
	must(w.T, os.MkdirAll(w.dir+"/.local/state/assetferry", 0o700)) // as schedule says
	return string(out)
}

// systemdCommand returns a function that starts what the unit of the job starts. No path in it needs
// quotes.
func systemdCommand(w *week) func() *exec.Cmd {
	w.Helper()
	var words, environ []string
	dir := "/"
	for line := range strings.Lines(w.schedule()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "ExecStart":
			words = strings.Fields(value)
		case "Environment":
			environ = append(environ, value)
		case "WorkingDirectory":
			dir = value
		case "EnvironmentFile", "LoadCredential":
			w.Fatalf("the unit needs a secret: %s", line)
		}
	}
	if len(words) == 0 {
		w.Fatal("the unit starts nothing")
	}
	return func() *exec.Cmd {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, environ
		return cmd
	}
}

// cronCommand returns a function that starts the line of the job as cron does. Nothing in it contains a
// percent sign.
func cronCommand(w *week) func() *exec.Cmd {
	w.Helper()
	_, line, _ := strings.Cut(w.schedule("--format", "cron"), "\n") // after a comment
	fields := strings.SplitN(strings.TrimSpace(line), " ", 6)
	if len(fields) < 6 || strings.Contains(fields[5], "\n") {
		w.Fatalf("no line of cron: %q", line)
	}
	return func() *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", fields[5])
		cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + w.dir, "LOGNAME=reader", "SHELL=/bin/sh", "PATH=/usr/bin:/bin"}
		return cmd
	}
}
