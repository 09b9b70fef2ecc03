package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A process is a call of assetferry in its own process.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	lines          chan string // lines of stdout, if it is followed; closed at its end
}

// patience is the maximum duration of a process. A longer one counts as hanging, even on a busy
// machine.
const patience = 4 * time.Minute

// assetferry prepares a call in a directory with only the given environment variables.
func assetferry(t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	return commandWithin(t, patience, dir, env, args...)
}

// commandWithin is assetferry with another maximum duration.
func commandWithin(t testing.TB, patience time.Duration, dir string, env []string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return commandUntil(ctx, t, dir, env, args...)
}

// commandWithProgress is assetferry without a maximum duration. It counts as hanging if it prints
// nothing for as long as patience.
func commandWithProgress(t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	p := commandUntil(ctx, t, dir, env, args...)
	p.Stdout = io.MultiWriter(&p.stdout, reset{time.AfterFunc(patience, cancel)})
	return p
}

// A reset is a timer that starts again with each output.
type reset struct{ timer *time.Timer }

func (r reset) Write(p []byte) (int, error) {
	r.timer.Reset(patience)
	return len(p), nil
}

// commandUntil is assetferry until ctx is done.
func commandUntil(ctx context.Context, t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	if err := shipped(); err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(ctx, "assetferry", args...)}
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	p.Dir = dir
	p.Env = append([]string{"HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "GORACE=atexit_sleep_ms=0"}, env...)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

// run runs a command to its end and returns its exit code.
func (p *process) run(t testing.TB) int {
	t.Helper()
	code, err := exitCode(p.Run())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// must runs a command to its end, checks its exit code, and returns its stdout.
func (p *process) must(t testing.TB, want int) string {
	t.Helper()
	if code := p.run(t); code != want {
		t.Fatalf("%s: exit code %d, want %d\n%s%s", p, code, want, p.stdout.String(), p.stderr.String())
	}
	return p.stdout.String()
}

// follow starts a command and sends its lines to p.lines as they arrive. After the last line, the
// caller must call wait.
func (p *process) follow(t testing.TB) {
	t.Helper()
	p.Stdout = nil
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.lines = make(chan string)
	go func() {
		defer close(p.lines)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			p.lines <- s.Text()
		}
	}()
}

// wait waits for the end of a followed command and returns its exit code.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	for line := range p.lines {
		fmt.Fprintln(&p.stdout, line)
	}
	code, err := exitCode(p.Wait())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// A printed is a JSON line, with the fields that tests use.
type printed struct {
	Type, Key, Action, State, Run, Class, Message, Old string
	AssetID                                            string `json:"asset_id"`
	Description, Result                                string
	BilledRequests                                     int `json:"billed_requests"`
	Actions, States                                    map[string]int64
	Bytes                                              int64
	Exit                                               int
}

func parseEvent(t testing.TB, line string) printed {
	t.Helper()
	var e printed
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	return e
}

// eachEvent returns all lines of a JSON output.
func eachEvent(t testing.TB, stdout string) (all []printed) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		all = append(all, parseEvent(t, line))
	}
	return all
}

// lastEvent returns the last line of a JSON output.
func lastEvent(t testing.TB, stdout string) printed {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	return parseEvent(t, lines[len(lines)-1])
}

// A tree is the content of files by key.
type tree map[string]string

// smallTree returns a tree of n small files in nested folders.
func smallTree(n int) tree {
	made := tree{}
	for i := range n {
		dir := [...]string{"", "a/", "a/b/", "a/b/c/", "d e/", "ü/"}[i%6]
		name := fmt.Sprintf("%sfile %03d.%s", dir, i, [...]string{"jpg", "txt", "pdf"}[i%3])
		made[name] = fmt.Sprintf("content of %s", name)
		if i%10 == 9 {
			made[name] = "the same in several files"
		}
	}
	return made
}

func (f tree) write(t testing.TB, root string) {
	t.Helper()
	for key, content := range f {
		path := filepath.Join(root, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// check verifies that the service has every file of the tree once, with its content, and nothing
// else, and that no folder and no category exists twice.
func (f tree) check(t testing.TB, s *service) {
	t.Helper()
	d, err := f.compare(s)
	if err != nil {
		t.Fatal(err)
	}
	if d.any() {
		t.Errorf("the destination differs from the source: %+v", d)
	}
}

// A damage lists the differences at a destination, by key or path.
type damage struct{ missing, doubled, changed, foreign, folders []string }

func (d *damage) add(more damage) {
	d.missing, d.doubled, d.changed = append(d.missing, more.missing...), append(d.doubled, more.doubled...), append(d.changed, more.changed...)
	d.foreign, d.folders = append(d.foreign, more.foreign...), append(d.folders, more.folders...)
}

func (d damage) any() bool {
	return len(d.missing)+len(d.doubled)+len(d.changed)+len(d.foreign)+len(d.folders) > 0
}

// compare returns the differences between a service and a tree.
func (f tree) compare(s *service) (d damage, err error) {
	all, err := s.assets()
	if err != nil {
		return d, err
	}
	seen := map[string]int{}
	for _, a := range all {
		key := strings.TrimPrefix(a.folder+"/"+a.name, "/")
		seen[key]++
		if want, ok := f[key]; !ok {
			d.foreign = append(d.foreign, key)
		} else if string(a.content) != want {
			d.changed = append(d.changed, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f)) {
		switch n := seen[key]; {
		case n == 0:
			d.missing = append(d.missing, key)
		case n > 1:
			d.doubled = append(d.doubled, key)
		}
	}
	places, err := s.places()
	for n, place := range places {
		if n > 0 && place == places[n-1] {
			d.folders = append(d.folders, place)
		}
	}
	return d, err
}
