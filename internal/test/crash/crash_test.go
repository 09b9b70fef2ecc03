//go:build crashimage && linux

// Package crash cuts the power of the disk with the state database, at random instants of a
// migration, a sync and an undo. The state database is on an ext4 file system of a loop device. Its
// image is copied while the built program is working, so the copy has only the data that was
// written to the disk, and not the data in memory. The file system of the copy is mounted in place
// of the first, and the same command resumes. The test needs root and loop devices:
//
//	go test -tags crashimage ./internal/test/crash -v
//
// In the end library_test.go compares the destination with the source.
package crash

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"assetferry/internal/test/seedtest"
)

var (
	program = flag.String("program", "", "the assetferry to test; default: built from here")
	rounds  = flag.Int("rounds", 1, "how often ten cuts are made")
)

// The power cuts of a round, ten together, and the number of requests before each: a run sends more
// requests than all of its cuts need.
const (
	migrateCuts, migrateRequests = 4, 60
	syncCuts, syncRequests       = 3, 35
	undoCuts, undoRequests       = 3, 30
)

func TestPowerCuts(t *testing.T) {
	dice := seedtest.Rand(t)
	binary := build(t)
	for n := range *rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) { newWorld(t, binary, dice).round() })
	}
}

// build returns the path of the program, which it builds unless the flag names one.
func build(t *testing.T) string {
	t.Helper()
	if *program != "" {
		return *program
	}
	binary := filepath.Join(t.TempDir(), "assetferry")
	run(t, "go", "build", "-o", binary, "assetferry/cmd/assetferry")
	return binary
}

// TestSmallDisk verifies that a run on a small disk reports, before it begins, how much space its
// write-ahead log needs, and that its error says that no space is left.
func TestSmallDisk(t *testing.T) {
	w := newWorld(t, build(t), seedtest.Rand(t))
	w.disk.down()
	w.disk = newDisk(t, t.TempDir(), 2<<20)
	c := w.command("migrate", "src")
	err := c.Run()
	said := fmt.Sprint(c.Stderr)
	if err == nil || !strings.Contains(said, "no space left") {
		t.Errorf("on a disk of 2 MB it ends with %v: %s", err, said)
	}
	before, _, _ := strings.Cut(said, "no space left")
	if !strings.Contains(before, "free. During a run, its write-ahead log takes up to 20.0 MB") {
		t.Errorf("it is not said before it begins: %s", said)
	}
}

// TestNothingIsShared verifies that the comparison shares no code with the program.
func TestNothingIsShared(t *testing.T) {
	out := run(t, "go", "list", "-deps", "-test", "-tags", "crashimage", "-f", "{{with .Module}}{{$.ImportPath}}{{end}}", ".")
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		ours := strings.HasPrefix(name, "assetferry/") && !strings.HasPrefix(name, "assetferry/internal/test/crash") && name != "assetferry/internal/test/seedtest"
		if ours || strings.Contains(name, "/") && !strings.HasPrefix(name, "assetferry/") {
			t.Errorf("it imports %s", name)
		}
	}
}

// run runs a command, and fails the test unless it succeeds.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", c, err, out, stderr.Bytes())
	}
	return string(out)
}

// A world has a source, a destination, and a disk for the state database.
type world struct {
	*testing.T
	dice    *rand.Rand
	binary  string
	dir     string
	disk    *disk
	gate    *gate
	library library
	env     []string
	files   map[string]string // of the source
	cuts    int
}

func newWorld(t *testing.T, binary string, dice *rand.Rand) *world {
	w := &world{T: t, dice: dice, binary: binary, dir: t.TempDir(), files: map[string]string{}}
	w.disk = newDisk(t, w.dir, 64<<20)
	w.library = startSandbox(t, binary, w.dir)
	w.gate = newGate(t, w.library.base)
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "ASSETFERRY_URL=" + w.gate.server.URL,
		"ASSETFERRY_ENVIRONMENT_ID=" + w.library.environment, "ASSETFERRY_ACCESS_KEY=" + w.library.key}
	for n := range 400 {
		w.write(fmt.Sprintf("%sfile %03d.txt", [...]string{"", "a/", "a/b/", "ü/"}[n%4], n), fmt.Sprint("content of ", n))
	}
	return w
}

func (w *world) write(key, content string) {
	w.Helper()
	path := filepath.Join(w.dir, "src", key)
	must(w.T, os.MkdirAll(filepath.Dir(path), 0o700))
	must(w.T, os.WriteFile(path, []byte(content), 0o600))
	w.files[key] = content
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// round makes ten power cuts.
func (w *world) round() {
	w.suffer(migrateCuts, migrateRequests, "migrate", "src", "--confirm-timeout", "100ms")
	w.compare("migrate")
	before := maps.Clone(w.files)
	for n := range 120 {
		w.write(fmt.Sprintf("new/file %03d.txt", n), fmt.Sprint("new ", n))
	}
	for _, key := range slices.Sorted(maps.Keys(before))[:120] {
		w.write(key, before[key]+", changed")
	}
	id := w.suffer(syncCuts, syncRequests, "sync", "src", "--confirm-timeout", "100ms", "--max-changes-percent", "100")
	w.compare("sync")
	w.files = before
	w.suffer(undoCuts, undoRequests, "undo", "--run", id, "--apply", "--yes")
	w.compare("undo")
	w.Logf("%d cuts: accepted each time, 0 missing, 0 doubled", w.cuts)
}

// suffer runs a command with some power cuts, and returns the ID of its run.
func (w *world) suffer(cuts, requests int, args ...string) (id string) {
	w.Helper()
	for range cuts {
		c := w.command(args...)
		at := w.gate.closeAt(1 + w.dice.IntN(requests))
		must(w.T, c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-at:
		case err := <-ended:
			w.Fatalf("%s ended before the cut: %v\n%s%s", args[0], err, c.Stdout, c.Stderr)
		}
		w.disk.cut(c.Process, ended)
		w.accepted(c)
		w.gate.open()
		w.cuts++
		w.Logf("power cut %d, in %s", w.cuts, args[0])
	}
	c := w.command(args...)
	if err := c.Run(); err != nil {
		w.Fatalf("%s after its cuts: %v\n%s%s", args[0], err, c.Stdout, c.Stderr)
	}
	w.accepted(c)
	lines := strings.Split(strings.TrimSpace(fmt.Sprint(c.Stdout)), "\n")
	var summary struct{ Run string }
	must(w.T, json.Unmarshal([]byte(lines[len(lines)-1]), &summary))
	return summary.Run
}

// accepted verifies that a command accepted the state database without a warning.
func (w *world) accepted(c *exec.Cmd) {
	w.Helper()
	if said := fmt.Sprint(c.Stderr); strings.Contains(said, "Another program changed") || strings.Contains(said, "takeover") {
		w.Fatalf("the state database was not accepted: %s", said)
	}
}

func (w *world) command(args ...string) *exec.Cmd {
	c := exec.Command(w.binary, append(args, "--json", "-j", "3", "--state", filepath.Join(w.disk.mount, "state", "state.db"))...)
	c.Dir, c.Env, c.Stdout, c.Stderr = w.dir, w.env, &bytes.Buffer{}, &bytes.Buffer{}
	return c
}

func (w *world) compare(after string) {
	w.Helper()
	wrong, err := w.library.compare(w.files)
	must(w.T, err)
	if len(wrong) > 0 {
		w.Fatalf("after %s, %d differences: %s", after, len(wrong), strings.Join(wrong[:min(len(wrong), 20)], "; "))
	}
}

// startSandbox starts the service with its data outside of the disk.
func startSandbox(t *testing.T, binary, dir string) library {
	t.Helper()
	c := exec.Command(binary, "sandbox", "--data", filepath.Join(dir, "service"))
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			t.Errorf("the sandbox ended: %v", err)
		}
	})
	var printed bytes.Buffer
	_, err = printed.ReadFrom(out) // it closes stdout once it listens
	must(t, err)
	values := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^export (\w+)='(.*)'$`).FindAllStringSubmatch(printed.String(), -1) {
		values[m[1]] = m[2]
	}
	return library{values["ASSETFERRY_URL"], values["ASSETFERRY_ENVIRONMENT_ID"], values["ASSETFERRY_ACCESS_KEY"]}
}

// A gate is a proxy before the service. It closes after a request, which it still passes, and holds
// later ones until it is opened.
type gate struct {
	server  *httptest.Server
	left    atomic.Int64
	mu      sync.Mutex
	closed  chan struct{}
	opened  chan struct{}
	passing sync.WaitGroup
}

func newGate(t *testing.T, base string) *gate {
	t.Helper()
	to, err := url.Parse(base)
	must(t, err)
	g := &gate{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.WriteHeader(http.StatusBadGateway) // its client was killed and does not read this
	}}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		closed, opened := g.closed, g.opened
		if closed != nil {
			g.passing.Add(1)
			defer g.passing.Done()
		}
		g.mu.Unlock()
		if closed != nil {
			switch left := g.left.Add(-1); {
			case left == 0:
				close(closed)
			case left < 0:
				<-opened
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.server.Close)
	return g
}

// closeAt makes the gate close at the nth request from now on, and then closes the returned
// channel.
func (g *gate) closeAt(n int) (closed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left.Store(int64(n))
	g.closed, g.opened = make(chan struct{}), make(chan struct{})
	return g.closed
}

// open drops the held requests, and waits until the service is idle.
func (g *gate) open() {
	g.mu.Lock()
	close(g.opened)
	g.closed = nil
	g.mu.Unlock()
	g.passing.Wait()
}

// A disk is an ext4 file system in a file.
type disk struct {
	*testing.T
	image, mount string
	mounted      bool
}

func newDisk(t *testing.T, dir string, size int64) *disk {
	t.Helper()
	d := &disk{T: t, image: filepath.Join(dir, "disk.img"), mount: filepath.Join(dir, "disk")}
	f, err := os.Create(d.image)
	must(t, err)
	must(t, f.Truncate(size))
	must(t, f.Close())
	run(t, "mkfs.ext4", "-q", "-F", d.image)
	must(t, os.Mkdir(d.mount, 0o700))
	d.up()
	t.Cleanup(func() {
		if d.mounted {
			d.down()
		}
	})
	return d
}

func (d *disk) up() {
	d.Helper()
	run(d.T, "mount", "-o", "loop", d.image, d.mount)
	d.mounted = true
}

func (d *disk) down() {
	d.Helper()
	run(d.T, "umount", d.mount)
	d.mounted = false
}

// cut kills a process and cuts the power of the disk at the same instant; then it mounts the file
// system as it was on the disk. The process is stopped while the image is copied, so that the copy
// is consistent. If the kernel wrote to the disk meanwhile, the copy is repeated.
func (d *disk) cut(p *os.Process, ended <-chan error) {
	d.Helper()
	must(d.T, p.Signal(syscall.SIGSTOP))
	d.standstill(p.Pid)
	content, err := os.ReadFile(d.image)
	must(d.T, err)
	for {
		again, err := os.ReadFile(d.image)
		must(d.T, err)
		if bytes.Equal(content, again) {
			break
		}
		content = again
	}
	must(d.T, p.Kill())
	<-ended
	d.down()
	must(d.T, os.WriteFile(d.image, content, 0o600))
	d.up()
}

// standstill waits until every thread of a process has stopped, so that none is in the middle of a
// write.
func (d *disk) standstill(pid int) {
	d.Helper()
	for {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		must(d.T, err)
		stopped := len(threads) > 0
		for _, name := range threads {
			stat, err := os.ReadFile(name)
			must(d.T, err)
			_, state, _ := bytes.Cut(stat, []byte(") "))
			stopped = stopped && len(state) > 0 && state[0] == 'T'
		}
		if stopped {
			return
		}
	}
}
