package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/schedule/scheduletest"

	"github.com/spf13/pflag"
)

// The test runs the printed commands of schedule with only the environment of the unit or the cron
// line, in another folder. It verifies that they succeed.
func TestScheduledCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("schedule is for Unix")
	}
	t.Parallel()
	b := startBucket(t, "photos")
	if err := b.put("2024/a.jpg", "a"); err != nil {
		t.Fatal(err)
	}
	aws := append(b.variables(), "AWS_ACCESS_KEY_ID=reader", "AWS_SECRET_ACCESS_KEY=it is secret")
	s := startService(t, sandbox.Options{})
	c := s.variables()
	key := c[slices.IndexFunc(c, func(v string) bool { return strings.HasPrefix(v, "ASSETFERRY_ACCESS_KEY=") })]
	for name, tc := range map[string]struct {
		env  []string
		args []string
		file string // name of the configuration file
	}{
		"a job":                {args: []string{"--job", "nightly"}, file: "to: sandbox\njobs:\n  nightly: {source: photos, unsupported: skip, log_file: nightly.log}\n"},
		"a source with flags":  {args: []string{"photos", "--to", "sandbox", "--unsupported", "skip", "--exclude", `100% "$HOME" \o it's ü; x/**`, "--category", "Images", "--state", "my state.db"}},
		"an odd name":          {args: []string{`it's 100% "$HOME" ü; \x`, "--to", "sandbox", "--unsupported", "skip"}},
		"a list of keys":       {args: []string{"photos", "--to", "sandbox", "--files-from", "keys.txt"}},
		"a bucket":             {env: aws, args: []string{"s3://photos/2024", "--to", "sandbox"}},
		"a table":              {args: []string{"table:export.csv", "--to", "sandbox", "--unsupported", "skip"}},
		"variables":            {env: c, args: []string{"photos", "--unsupported", "skip"}},
		"variables, as files":  {env: c, args: []string{"photos", "--unsupported", "skip", "--load-credential"}},
		"a key in a file":      {args: []string{"photos", "--unsupported=skip", "--load-credential"}, file: "to: x\ndestinations:\n  x: {url: '" + s.url + "', environment: '" + value(c, "ASSETFERRY_ENVIRONMENT_ID") + "', access_key_file: my.key}\n"},
		"a key from a program": {env: append(without(c, "ASSETFERRY_ACCESS_KEY"), "ASSETFERRY_ACCESS_KEY_COMMAND=./key.sh", "PATH=/usr/bin:/bin"), args: []string{"photos", "--unsupported", "skip"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tree{"photos/a.jpg": "a", "photos/odd.xyz": "odd", `it's 100% "$HOME" ü; \x/a.jpg`: "a", "keys.txt": "a.jpg\n", "export.csv": "path\nphotos/a.jpg\n",
				"my.key": value([]string{key}, "ASSETFERRY_ACCESS_KEY"), "key.sh": "#!/bin/sh\ncat my.key\n"}.write(t, dir)
			if err := os.Chmod(filepath.Join(dir, "key.sh"), 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.file != "" {
				tree{"assetferry.yaml": tc.file}.write(t, dir)
			}
			u := scheduled{t, dir, tc.env}
			u.startUnit(u.print(append([]string{"--user-unit"}, tc.args...)...))
			u.startCron(u.print(append([]string{"--format", "cron"}, slices.DeleteFunc(slices.Clone(tc.args), func(a string) bool { return a == "--load-credential" })...)...))
		})
	}
}

func without(env []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

func value(env []string, name string) string {
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest
		}
	}
	return ""
}

// A scheduled is a folder and an environment in which schedule is called.
type scheduled struct {
	*testing.T
	dir string
	env []string
}

// print calls schedule, runs the commands that it requires first, and returns its output.
func (s scheduled) print(args ...string) string {
	s.Helper()
	p := assetferry(s, s.dir, s.env, append([]string{"schedule"}, args...)...)
	printed := p.must(s, 0)
	for _, m := range regexp.MustCompile(`(?m)^    ((?:mkdir|printf) .*)$`).FindAllStringSubmatch(p.stderr.String(), -1) {
		sh := exec.Command("sh", "-c", m[1])
		sh.Dir, sh.Env = s.dir, p.Env
		if out, err := sh.CombinedOutput(); err != nil {
			s.Fatalf("%s: %v\n%s", m[1], err, out)
		}
	}
	return printed
}

// startUnit runs the service of a unit like systemd.
func (s scheduled) startUnit(printed string) {
	s.Helper()
	credentials := s.TempDir()
	dir, env := "/", []string(nil)
	var words []string
	for line := range strings.Lines(printed) {
		key, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "WorkingDirectory":
			dir = strings.ReplaceAll(text, "%%", "%")
		case "Environment":
			env = append(env, scheduletest.Words(strings.Replace(text, "=%d/", "="+credentials+"/", 1))...)
		case "LoadCredential":
			id, file, _ := strings.Cut(strings.ReplaceAll(text, "%%", "%"), ":")
			secret, err := os.ReadFile(file)
			if err != nil {
				s.Fatal(err)
			}
			tree{id: string(secret)}.write(s, credentials)
		case "EnvironmentFile":
			lines, err := os.ReadFile(strings.ReplaceAll(text, "%%", "%"))
			if err != nil {
				s.Fatal(err)
			}
			for line := range strings.Lines(string(lines)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				env = append(env, name+"="+strings.Trim(value, "'"))
			}
		case "ExecStart":
			for _, w := range scheduletest.Words(text) {
				words = append(words, strings.ReplaceAll(w, "$$", "$"))
			}
		}
	}
	if len(words) == 0 {
		s.Fatalf("no command in\n%s", printed)
	}
	c := exec.Command(words[0], words[1:]...)
	c.Dir, c.Env = dir, env
	if out, err := c.CombinedOutput(); err != nil {
		s.Errorf("%q with only %q: %v\n%s", words, env, err, out)
	}
}

// startCron runs the command of a cron line like cron.
func (s scheduled) startCron(printed string) {
	s.Helper()
	_, line, _ := strings.Cut(printed, "\n") // after a comment line
	fields := strings.SplitN(strings.TrimSpace(line), " ", 6)
	c := exec.Command("/bin/sh", "-c", strings.ReplaceAll(fields[5], `\%`, "%"))
	c.Dir, c.Env = "/", []string{"PATH=/usr/bin:/bin", "SHELL=/bin/sh"}
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		log, _ := filepath.Glob(filepath.Join(s.dir, "state", "assetferry", "*.log"))
		text := ""
		for _, name := range log {
			more, _ := os.ReadFile(name)
			text += string(more)
		}
		s.Errorf("%s: %v\n%s%s", line, err, out, text)
	}
}

// The test calls schedule with each flag of sync. It verifies that the command has the flag, that
// schedule rejects it, or that it only affects the output of schedule.
func TestScheduleTakesTheFlagsOfSync(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("schedule is for Unix")
	}
	t.Parallel()
	root := rootCommand(command.New(command.Environment{}, false))
	sync, _, err := root.Find([]string{"sync"})
	if err != nil {
		t.Fatal(err)
	}
	notHere := []string{"config", "job", "json", "quiet", "verbose", "help", "help-all"}
	dir := t.TempDir()
	tree{"photos/a.jpg": "a", "table.csv": "file\n", "albums.csv": "key,collection\n", "profile.yaml": "", "ca.pem": "", "waves.yaml": "waves:\n  - name: press\n    folders: [press]\n"}.write(t, dir)
	given := map[string]string{
		"to": "sandbox", "state": "x.db", "ai-url": "https://ai.example.com", "service-profile": "profile.yaml", "ca-file": "ca.pem", "log-file": "x.log",
		"concurrency": "3", "endpoint": "https://s3.example.com", "files-from": "table.csv", "max-requests": "10/h", "max-duration": "2h", "until": "06:00",
		"bwlimit": "1M", "keep-runs": "30d", "metrics": "m.prom", "notify-file": "n.txt", "min-age": "1h", "metadata": "table.csv", "collections": "albums.csv", "collections-as": "tags", "collection-prefix": "Album: ", "precedence": "table,exif",
		"ignore-metadata": "exif", "wait": "2m", "grace-period": "2d", "max-delete": "3", "max-delete-percent": "2", "max-changes": "3", "max-changes-percent": "2",
		"drift-share": "0.5", "confirm-timeout": "3s", "table-root": "photos", "table-columns": "path=file", "notify": "https://hooks.example.com/x", "limit": "3", "accept-deletes": "3", "accept-changes": "3", "rescan": "15m", "scan-timeout": "30s", "versions": "2", "wave": "press",
	}
	check := func(f *pflag.Flag) {
		if slices.Contains(notHere, f.Name) {
			return
		}
		flag := "--" + f.Name
		if f.NoOptDefVal == "" {
			text := given[f.Name]
			if v := cmdline.Values(f.Name); text == "" && len(v) > 0 {
				text = v[len(v)-1]
			} else if text == "" {
				text = "x"
			}
			flag += "=" + text
		}
		args := []string{"schedule", "photos", flag}
		if f.Name != "to" {
			args = append(args, "--to=sandbox")
		}
		if f.Name == "wave" {
			args = append(args, "--config=waves.yaml")
		}
		p := assetferry(t, dir, nil, args...)
		code, printed := p.run(t), p.stdout.String()
		switch {
		case f.Name == "yes" || slices.Contains(cmdline.SingleRunFlags, f.Name):
			if code != exit.CodeUsage || !strings.Contains(p.stderr.String(), "--"+f.Name+" is for a single run") {
				t.Errorf("%s: exit code %d\n%s", flag, code, &p.stderr)
			}
		case f.Name == "watch" || f.Name == "rescan":
			if code != exit.CodeUsage || !strings.Contains(p.stderr.String(), "--"+f.Name+" keeps sync running") {
				t.Errorf("%s: exit code %d\n%s", flag, code, &p.stderr)
			}
		case f.Name == "notify": // its URL is a secret
			if code != exit.CodeDone || !strings.Contains(printed, "\nEnvironmentFile=") {
				t.Errorf("%s: exit code %d\n%s%s", flag, code, printed, &p.stderr)
			}
		case code != exit.CodeDone || !regexp.MustCompile(`(?m)^ExecStart=.* "?--`+f.Name+`\b`).MatchString(printed):
			t.Errorf("%s: exit code %d\n%s%s", flag, code, printed, &p.stderr)
		}
	}
	sync.LocalFlags().VisitAll(check)
	sync.InheritedFlags().VisitAll(check)
}
