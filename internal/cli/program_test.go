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
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// The test verifies that WithProgram replaces the program name in the commands of a hint, and
// in no other text.
func TestWithProgram(t *testing.T) {
	const name = "go run ./cmd/assetferry"
	for text, want := range map[string]string{
		"assetferry status lists the runs":           name + " status lists the runs",
		"Try: assetferry help s3 (assetferry plan)":  "Try: " + name + " help s3 (" + name + " plan)",
		"run it:\n    assetferry sync --job a":       "run it:\n    " + name + " sync --job a",
		"assetferry is free":                         "assetferry is free",
		"/srv/assetferry status":                     "/srv/assetferry status",
		"./assetferry plan, go run ./cmd/assetferry": "./assetferry plan, go run ./cmd/assetferry",
	} {
		if got := cmdline.WithProgram(text, name); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, c := range rootCommand(command.New(command.Environment{}, false)).Commands() {
		if isTopic(c) {
			continue
		}
		if text := "assetferry " + c.Name(); cmdline.WithProgram(text, name) == text {
			t.Errorf("%q is taken for no command", text)
		}
	}
}

// The test runs the commands that the demo prints at its end, in the folder that it was called in
// and without assetferry on the PATH: for a program with a path or for go run, and for both in the
// long form.
func TestDemoCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs go")
	}
	home := t.TempDir()
	r := reader{root: root, home: home, bin: filepath.Join(home, "no bin")}
	r.goEnv(t)
	path := strings.Join([]string{filepath.Dir(gotool), "/usr/bin", "/bin"}, ":")
	env := append(slices.DeleteFunc(r.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }), "PATH="+path)
	built := filepath.Join(home, "my programs", "assetferry")
	demo := func(dir, say string, words ...string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "output") // not to a pipe, because a sandbox would keep it open
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		c := exec.Command(words[0], words[1:]...)
		c.Dir, c.Env, c.Stdout, c.Stderr = dir, env, out, out
		failed := c.Run()
		text, err := os.ReadFile(file)
		if failed != nil || err != nil {
			t.Fatalf("%s: %v %v\n%s", say, failed, err, text)
		}
		return string(text)
	}
	linkProgram(t, built)
	tree{"assetferry.yaml": "to: sandbox\njobs:\n  mine: {source: photos}\n"}.write(t, home) // the demo ignores it
	ways := []struct {
		name  string
		dir   string
		words []string
		made  string // the folder of the demo
		want  string // text that must be printed
	}{
		{"a program", home, []string{built, "demo", "--dir", "one demo"}, "one demo", "'" + built + "' report"},
		{"go run", root, []string{gotool, "run", "./cmd/assetferry", "demo", "--dir", filepath.Join(home, "two")}, "two", "go build -o"},
	}
	n := seedtest.Rand(t).IntN(len(ways))
	for _, tc := range longtest.Size(ways[n:n+1], ways) {
		name := tc.name
		printed := demo(tc.dir, name, tc.words...)
		_, closing, found := strings.Cut(printed, "All files are in ")
		if !found || !strings.Contains(closing, tc.want) {
			t.Errorf("%s: the demo ends with\n%s", name, printed[max(0, len(printed)-1500):])
			continue
		}
		script := "set -e\n" + strings.Join(regexp.MustCompile(`(?m)^    .*$`).FindAllString(closing, -1), "\n") + "\n"
		out := demo(tc.dir, name+": "+script, "sh", "-c", script)
		if !strings.Contains(out, "http://127.0.0.1:") || !strings.Contains(closing, "report.html") || !strings.Contains(out, "would be created") {
			t.Errorf("%s: printed\n%s", name, out)
		}
		if code := assetferry(t, home, nil, "sandbox", "status", "--data", filepath.Join(tc.made, "sandbox")).run(t); code != exit.CodeNoSuch {
			t.Errorf("%s: status of the sandbox: exit code %d, want %d: it is stopped", name, code, exit.CodeNoSuch)
		}
		if _, err := os.Stat(filepath.Join(home, tc.made, "report.html")); err != nil {
			t.Error(err)
		}
	}
}
