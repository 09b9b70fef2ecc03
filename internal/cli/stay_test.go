package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// nextRun reads the output of a command that keeps running, up to the summary of its next run.
func nextRun(t *testing.T, p *process) printed {
	t.Helper()
	for line := range p.lines {
		if e := parseEvent(t, line); e.Type == "summary" {
			return e
		}
	}
	t.Fatalf("it ended: %s", p.stderr.String())
	return printed{}
}

// The test verifies that --watch uploads changes, also in a new folder, and that files that sync
// writes do not start a run.
func TestWatch(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs an interrupt")
	}
	s := startService(t, sandbox.Options{})
	h, dir := startHook(t, nil), t.TempDir()
	source := filepath.Join(dir, "src")
	files := smallTree(3)
	files.write(t, source)
	watch := func(args ...string) *process {
		p := assetferry(t, dir, append(s.variables(), "ASSETFERRY_NOTIFY=success="+h.url), append([]string{"sync", "src", "--watch", "--json",
			"--state", "src/state.db", "--log-file", "src/log", "--metrics", "src/metrics.prom"}, args...)...)
		p.follow(t)
		return p
	}
	p := watch("--rescan", "4s")
	if e := nextRun(t, p); e.Actions["create"] != 3 || e.Exit != exit.CodeDone {
		t.Errorf("the first run is %+v", e)
	}
	if e := nextRun(t, p); e.Actions["unchanged"] != 3 || e.Actions["create"] != 0 {
		t.Errorf("the second run is %+v", e)
	}
	interrupt(t, p)
	if code := p.wait(t); code != exit.CodeDone && code != exit.CodeInterrupted { // the next run may be in progress
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}

	p = watch() // so that the change starts the run, and not the interval
	nextRun(t, p)
	more := tree{"new/folder/one.jpg": "one", "two.jpg": "two"}
	more.write(t, source)
	for brought := int64(0); brought < 2; { // usually in one run
		brought += nextRun(t, p).Actions["create"]
	}
	interrupt(t, p)
	if code := p.wait(t); code != exit.CodeDone && code != exit.CodeInterrupted { // a late event of the change may have started a run
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}

	p = watch()
	nextRun(t, p)
	interrupt(t, p)
	if code := p.wait(t); code != exit.CodeDone {
		t.Errorf("it was interrupted while it waited, and ended with %d: %s", code, p.stderr.String())
	}
	for key, content := range more {
		files[key] = content
	}
	files.check(t, s)
	log, err := os.ReadFile(filepath.Join(source, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var why []string
	for line := range strings.Lines(string(log)) {
		if _, rest, ok := strings.Cut(line, `"msg":"next run","why":"`); ok {
			word, _, _ := strings.Cut(rest, `"`)
			why = append(why, word)
		}
	}
	if len(why) < 2 || why[0] != "time" || !slices.Contains(why, "change") {
		t.Errorf("what had it run again: %q\n%s", why, log)
	}
	if notices := h.all(); len(notices) < 3 || notices[2].Event != "success" {
		t.Errorf("told %v", notices)
	}
}

// The test verifies that an interrupt lets the current run finish, and that the exit code is that
// of the run.
func TestWatchInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs an interrupt")
	}
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	files := smallTree(6)
	files.write(t, filepath.Join(dir, "src"))
	g := hold(s, 1)
	p := assetferry(t, dir, s.variables(), "sync", "src", "--watch", "--json", "-j", "1")
	shown := whenPrinted(t, p, "Interrupted: finishing work in progress")
	p.follow(t)
	<-g.reached
	interrupt(t, p)
	<-shown
	close(g.open)
	if code := p.wait(t); code != exit.CodeInterrupted {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
	if e := lastEvent(t, p.stdout.String()); e.Type != "summary" || e.Exit != exit.CodeInterrupted || e.States["done"] == 0 {
		t.Errorf("the last line is %+v", e)
	}
}

// The test verifies that --rescan repeats runs for a bucket, too.
func TestRescan(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs an interrupt")
	}
	s := startService(t, sandbox.Options{})
	b := startBucket(t, "photos")
	dir := t.TempDir()
	smallTree(2).write(t, dir+"/src")
	if err := b.putTree(dir + "/src"); err != nil {
		t.Fatal(err)
	}
	env := append(append(s.variables(), b.variables()...), "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret")
	p := assetferry(t, dir, env, "sync", "s3://photos", "--rescan", "1s", "--json")
	p.follow(t)
	for n, action := range []string{"create", "unchanged", "unchanged"} {
		if e := nextRun(t, p); e.Actions[action] != 2 {
			t.Errorf("run %d is %+v", n, e)
		}
	}
	interrupt(t, p)
	if code := p.wait(t); code != exit.CodeDone && code != exit.CodeInterrupted { // the next run may be in progress
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

// The test verifies that errors which waiting cannot fix end --watch at once.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	smallTree(2).write(t, filepath.Join(dir, "src"))
	for _, test := range []struct {
		code int
		env  string
		args []string
	}{
		{exit.CodeAuth, "ASSETFERRY_ACCESS_KEY=another", []string{"src", "--watch"}},
		{exit.CodeUsage, "", []string{"src", "--watch", "--include", "["}},
		{exit.CodeUsage, "", []string{"s3://photos", "--watch"}},
		{exit.CodeUsage, "", []string{"src", "--watch", "--dry-run"}},
		{exit.CodeUsage, "", []string{"src", "--watch", "--limit", "5"}},
		{exit.CodeUsage, "", []string{"src", "--rescan", "0s"}},
		{exit.CodeUsage, "", []string{"src", "--rescan", "1h", "--restart"}},
		{exit.CodeUsage, "", []string{"src", "--rescan", "1h", "--files-from", "-"}},
		{exit.CodeError, "", []string{"none", "--watch"}},
	} {
		assetferry(t, dir, append(s.variables(), test.env), append([]string{"sync"}, test.args...)...).must(t, test.code)
	}
}
