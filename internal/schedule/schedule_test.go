package schedule

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetferry/internal/schedule/scheduletest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func tasks() map[string]Task {
	plain := Task{
		Name: "assetferry-nightly", About: "Sync of /srv/photos (assetferry)",
		Command: []string{"/usr/local/bin/assetferry", "sync", "--job", "nightly", "--config", "/etc/assetferry.yaml"},
		Hour:    4, Minute: 30, Limit: 23 * time.Hour,
		Read: []string{"/srv/photos", "/etc/assetferry.yaml"}, Written: []string{"/var/lib/assetferry"},
		Log: "/var/lib/assetferry/assetferry-nightly.log", Account: "ferry",
	}
	secret := plain
	secret.Environment = []Variable{{"ASSETFERRY_URL", "https://api.ckbox.io"}, {"AWS_PROFILE", "the library's"}}
	secret.SecretFile = "/etc/assetferry/nightly.env"
	secret.Read = []string{"/home/ferry/photos"}
	secret.Limit = 90 * time.Minute

	odd := plain
	odd.About = `Sync of /srv/100% "our" photos`
	odd.Command = []string{"/opt/asset ferry/100%/assetferry", "sync", `/srv/100% "our" photos; $HOME \o/ it's`, "--log-file=/var/log/100%.log"}
	odd.Read = []string{`/srv/100% "our" photos; $HOME \o/ it's`}
	odd.Written = []string{"/var/lib/asset ferry"}
	odd.Log = "/var/lib/asset ferry/100%.log"
	odd.Environment = []Variable{{"ASSETFERRY_SERVICE", `100% $HOME "x" \`}}
	odd.Account = "root"

	own := plain
	own.Account = ""
	own.SecretFile = "/home/me/my files/nightly.env"

	helped := plain
	helped.Helpers, helped.Folder = true, "/srv/100% ours"
	helped.Written = []string{"/tmp/state"}

	remote := helped
	remote.About, remote.Command = "Sync of rclone:drive:photos (assetferry)", []string{"/usr/local/bin/assetferry", "sync", "rclone:drive:photos"}
	remote.Large = true
	return map[string]Task{"plain": plain, "secret": secret, "odd": odd, "own": own, "helped": helped, "remote": remote}
}

// TestTasks compares units and cron lines with golden files.
func TestTasks(t *testing.T) {
	for name, task := range tasks() {
		service, err := task.Service()
		if err != nil {
			t.Fatal(err)
		}
		line, err := task.Line()
		if err != nil {
			t.Fatal(err)
		}
		got := service + "\n\n" + task.Timer() + "\n\n" + line
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestUnwritable: texts that systemd or cron would change are refused.
func TestUnwritable(t *testing.T) {
	for name, spoil := range map[string]func(*Task){
		"line break":          func(t *Task) { t.Command = append(t.Command, "a\nUser=root") },
		"not UTF-8":           func(t *Task) { t.Read = []string{"/srv/\xff"} },
		"in a variable":       func(t *Task) { t.Environment = []Variable{{"A", "b\x7f"}} },
		"space at the end":    func(t *Task) { t.Folder = "/srv/photos " },
		"backslash at an end": func(t *Task) { t.SecretFile = `/srv/photos\` },
		"quote in a program":  func(t *Task) { t.Command = []string{`/opt/"x"/assetferry`} },
	} {
		task := tasks()["plain"]
		spoil(&task)
		if _, err := task.Service(); !isUnwritable(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	task := tasks()["plain"]
	task.Command = append(task.Command, strings.Repeat("x", longest))
	if _, err := task.Line(); !isUnwritable(err) {
		t.Errorf("a long line: got %v", err)
	}
	task.Log = "a\nb"
	if _, err := task.Line(); !isUnwritable(err) {
		t.Errorf("a line break: got %v", err)
	}
}

func isUnwritable(err error) bool {
	_, is := errors.AsType[*UnwritableError](err)
	return is
}

// texts generates names of files and folders, and secrets.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[ -~äß漢]{0,12}`), rapid.StringMatching(`[\\%'"$; a]{1,8}`))
}

// TestWords reads words back as systemd does.
func TestWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := append([]string{"/usr/bin/x"}, rapid.SliceOfN(texts(), 1, 4).Draw(t, "words")...)
		u := &unit{}
		line := u.command(want)
		got := scheduletest.Words(line)
		for i := 1; i < len(got); i++ {
			got[i] = strings.ReplaceAll(got[i], "$$", "$")
		}
		if diff := cmp.Diff(want, got); diff != "" || u.err != nil {
			t.Errorf("%s: -want +got:\n%s (%v)", line, diff, u.err)
		}
	})
}

// crontab returns the command of a crontab line as cron reads it: the first five fields are the time,
// and "%" ends the line unless a backslash precedes it.
func crontab(t *testing.T, line string) string {
	t.Helper()
	fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
	var command []byte
	escaped := false
	for _, c := range []byte(fields[5]) {
		if c == '%' && !escaped {
			t.Fatalf("cron takes this for the end of the line: %s", command)
		}
		if c == '%' {
			command = command[:len(command)-1]
		}
		escaped = c == '\\' && !escaped
		command = append(command, c)
	}
	return string(command)
}

// A crond runs lines as cron does, with programs of the test.
type crond struct {
	*testing.T
	dir string
}

// program writes a program with a name that is hard to quote.
func (c crond) program(script string) string {
	path := filepath.Join(c.dir, `it's a 100% "program" \%`)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		c.Fatal(err)
	}
	return path
}

// run returns the mail of cron and the log.
func (c crond) run(task Task) (mail, log string) {
	c.Helper()
	task.Name, task.Log = "assetferry-test", filepath.Join(c.dir, `100% \%.log`)
	line, err := task.Line()
	if err != nil {
		c.Fatal(err)
	}
	sh := exec.Command("/bin/sh", "-c", crontab(c.T, line))
	sh.Dir, sh.Env = c.dir, []string{"PATH=/usr/bin:/bin", "SHELL=/bin/sh"}
	out, err := sh.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		c.Fatal(err)
	}
	text, err := os.ReadFile(task.Log)
	if err != nil {
		c.Fatal(err)
	}
	if err := os.Remove(task.Log); err != nil {
		c.Fatal(err)
	}
	return string(out), string(text)
}

func TestLines(t *testing.T) {
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("needs a shell")
	}
	c := crond{t, t.TempDir()}

	// All arguments arrive unchanged.
	rapid.Check(t, func(r *rapid.T) {
		args := rapid.SliceOfN(texts(), 1, 5).Draw(r, "arguments")
		value := texts().Draw(r, "value")
		program := c.program(`printf '%s\n' "$PWD" "$GIVEN" "$@"`)
		mail, log := c.run(Task{Command: append([]string{program}, args...), Environment: []Variable{{"GIVEN", value}}, Folder: c.dir})
		if want := strings.Join(append([]string{c.dir, value}, args...), "\n") + "\n"; log != want || mail != "" {
			r.Errorf("%q arrives as %q, and cron mails %q", want, log, mail)
		}
	})

	// Only failures are reported.
	for script, want := range map[string]string{
		"echo fine": "", "exit 7": "",
		"exit 3": "assetferry-test: exit code 3, see ", "kill -KILL $$": "assetferry-test: exit code 137, see ", // the shell reports the reason
	} {
		if mail, _ := c.run(Task{Command: []string{c.program(script)}}); !strings.Contains(mail, want) || want == "" && mail != "" {
			t.Errorf("%s: cron mails %q", script, mail)
		}
	}

	// A missing file of secrets is a failure, too.
	secrets := filepath.Join(c.dir, `my secrets 100% \%.env`)
	task := Task{Command: []string{c.program(`echo "$KEY"`)}, SecretFile: secrets}
	if mail, log := c.run(task); !strings.Contains(mail, "exit code") || !strings.Contains(log, "my secrets") {
		t.Errorf("without secrets: mail %q, log %q", mail, log)
	}
	if err := os.WriteFile(secrets, []byte("KEY='a b $c'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if mail, log := c.run(task); mail != "" || log != "a b $c\n" {
		t.Errorf("with secrets: mail %q, log %q", mail, log)
	}
}
