package cli

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/seedtest"
)

// TestKill kills a migration five times at random moments and resumes it each time. It verifies
// that at the end no file is missing and none exists twice.
func TestKill(t *testing.T) { testKill(t, "migrate", "src") }

// TestKillApply does the same with an approved plan.
func TestKillApply(t *testing.T) { testKill(t, "apply", "PLAN.jsonl", "--hash") }

func testKill(t *testing.T, what ...string) {
	t.Parallel()
	const kills = 5
	dice := seedtest.Rand(t)
	files := smallTree(400) // more than the kills let through: see killAtRequest and killAtOutcome
	dir := t.TempDir()
	files.write(t, dir+"/src")
	s := startService(t, sandbox.Options{Latency: 10 * time.Millisecond})
	planned := assetferry(t, dir, s.variables(), "plan", "src", "--output", "PLAN.jsonl")
	planned.must(t, exit.CodeDone)
	if what[0] == "apply" {
		_, hash, _ := strings.Cut(planned.stdout.String(), "Plan hash ")
		what = append(what, strings.TrimSpace(hash))
	}
	args := append(what, "--json", "--confirm-timeout", "100ms", "-j", "3")

	for n := range kills {
		p := assetferry(t, dir, s.variables(), args...)
		if dice.IntN(2) == 0 {
			killAtRequest(t, s, p, 1+dice.IntN(3), isUnsafe)
		} else {
			killAtOutcome(t, s, p, 1+dice.IntN(25))
		}
		code := p.wait(t)
		s.rest(t)
		switch {
		case code == exit.CodeDone:
			t.Fatalf("it was done before kill %d:\n%s", n, p.stdout.String())
		case runtime.GOOS != "windows" && code != -1:
			t.Fatalf("exit code %d before kill %d\n%s%s", code, n, p.stdout.String(), p.stderr.String())
		}
	}
	p := assetferry(t, dir, s.variables(), args...)
	sum := lastEvent(t, p.must(t, exit.CodeDone))
	if sum.States["done"] != int64(len(files)) || sum.Actions["create"] != int64(len(files)) || len(sum.States) != 1 {
		t.Errorf("the summary does not close over %d files: %+v", len(files), sum)
	}
	files.check(t, s)
	assetferry(t, dir, s.variables(), "verify", "--content", "-j", "4").must(t, exit.CodeDone)

	s.drain()
	sum = lastEvent(t, assetferry(t, dir, s.variables(), args...).must(t, exit.CodeDone))
	if sum.States["skipped"] != int64(len(files)) || sum.Actions["unchanged"] != int64(len(files)) {
		t.Errorf("another run has something to do: %+v", sum)
	}
	for _, r := range s.drain() {
		if !strings.HasPrefix(r, "GET ") && !strings.HasPrefix(r, "HEAD ") {
			t.Errorf("another run sends %s", r)
		}
	}
}

func isUnsafe(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// A watched service calls a function with each request before the answer.
type watched interface{ onRequest(func(*http.Request)) }

// killAtRequest kills a process when its nth request of a kind arrives, so that the process cannot
// know its result. Later requests of that kind get no answer before the kill, so the process cannot
// finish first.
func killAtRequest(t *testing.T, s watched, p *process, n int, counts func(*http.Request) bool) {
	t.Helper()
	arrived, killed := make(chan struct{}), make(chan struct{})
	defer close(killed)
	left := atomic.Int64{}
	left.Store(int64(n))
	s.onRequest(func(r *http.Request) {
		if !counts(r) {
			return
		}
		switch left := left.Add(-1); {
		case left == 0:
			close(arrived)
		case left < 0:
			<-killed
		}
	})
	defer s.onRequest(nil)
	p.follow(t)
	for {
		select {
		case <-arrived:
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			return
		case line, more := <-p.lines:
			if !more {
				return
			}
			fmt.Fprintln(&p.stdout, line)
		}
	}
}

// killAtOutcome kills a process after it has printed n outcomes. The service answers only some more
// uploads until then, so the process cannot finish first.
func killAtOutcome(t *testing.T, s *service, p *process, n int) {
	t.Helper()
	g := hold(s, n+40)
	defer s.onRequest(nil)
	defer close(g.open)
	p.follow(t)
	for line := range p.lines {
		if e := parseEvent(t, line); e.Type == "item" && e.State == "done" {
			n--
		}
		if n == 0 {
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// A gate holds uploads at the service until it is opened.
type gate struct {
	reached chan struct{} // closed when the first held request arrives
	open    chan struct{}
	once    sync.Once
}

// hold puts a gate in front of the service. The first uploads pass it.
func hold(s *service, pass int) *gate {
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	var mu sync.Mutex
	s.onRequest(func(r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/assets" {
			return
		}
		mu.Lock()
		pass--
		held := pass < 0
		mu.Unlock()
		if held {
			g.once.Do(func() { close(g.reached) })
			<-g.open
		}
	})
	return g
}

// The test verifies that a second migration is refused while the first one runs, and that the first
// one succeeds.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	files := smallTree(20)
	dir := t.TempDir()
	files.write(t, dir+"/src")
	s := startService(t, sandbox.Options{})
	g := hold(s, 3)
	first := assetferry(t, dir, s.variables(), "migrate", "src", "--json", "-j", "2")
	first.follow(t)
	<-g.reached

	second := assetferry(t, dir, s.variables(), "migrate", "src")
	second.must(t, exit.CodeInUse)
	if text := second.stderr.String(); !strings.Contains(text, "in use") || !strings.Contains(text, "\nTry: wait") {
		t.Errorf("the second is told %q", text)
	}
	if text := assetferry(t, dir, s.variables(), "status").must(t, exit.CodeDone); !strings.Contains(text, "applying") {
		t.Errorf("status while it is at work: %s", text)
	}

	close(g.open)
	if code := first.wait(t); code != exit.CodeDone {
		t.Fatalf("exit code %d of the first\n%s", code, first.stderr.String())
	}
	files.check(t, s)
}

// The test verifies that after one interrupt, by each signal, a migration finishes its current
// uploads, nothing is unconfirmed, and the same command uploads the rest.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside")
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) { testInterrupt(t, s) })
	}
}

func testInterrupt(t *testing.T, how os.Signal) {
	t.Parallel()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, how) // otherwise a child ignores the signal, as under nohup
	defer signal.Stop(heard)
	files := smallTree(30)
	dir := t.TempDir()
	files.write(t, dir+"/src")
	s := startService(t, sandbox.Options{})
	g := hold(s, 5)
	args := []string{"migrate", "src", "--json", "-j", "2"}
	p := assetferry(t, dir, s.variables(), args...)
	shown := whenPrinted(t, p, "Interrupted: finishing work in progress")
	p.follow(t)
	<-g.reached
	if err := p.Process.Signal(how); err != nil {
		t.Fatal(err)
	}
	<-shown
	close(g.open)
	if code := p.wait(t); code != exit.CodeInterrupted {
		t.Fatalf("exit code %d, want %d\n%s", code, exit.CodeInterrupted, p.stdout.String())
	}
	c := call{command: "migrate", json: true, code: exit.CodeInterrupted, stdout: p.stdout.String(), stderr: "assetferry: "}
	if err := c.check(); err != nil {
		t.Error(err)
	}
	sum := lastEvent(t, p.stdout.String())
	if sum.States["unconfirmed"]+sum.States["sending"]+sum.States["failed"] != 0 || sum.States["done"] == 0 || sum.States["planned"] == 0 {
		t.Errorf("after an interrupt: %v", sum.States)
	}
	sum = lastEvent(t, assetferry(t, dir, s.variables(), args...).must(t, exit.CodeDone))
	if sum.States["done"] != int64(len(files)) {
		t.Errorf("after going on: %v", sum.States)
	}
	files.check(t, s)
}

// The test verifies that the second interrupt aborts requests, and that the next run looks up the
// uploads that were in progress.
func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside")
	}
	files := smallTree(12)
	dir := t.TempDir()
	files.write(t, dir+"/src")
	s := startService(t, sandbox.Options{})
	g := hold(s, 2)
	p := assetferry(t, dir, s.variables(), "migrate", "src", "-j", "2")
	shown := whenPrinted(t, p, "Interrupted: finishing work in progress")
	p.follow(t)
	<-g.reached
	interrupt(t, p)
	<-shown
	interrupt(t, p)
	if code := p.wait(t); code != exit.CodeInterrupted {
		t.Fatalf("exit code %d, want %d\n%s", code, exit.CodeInterrupted, p.stdout.String())
	}
	close(g.open)
	s.rest(t)
	assetferry(t, dir, s.variables(), "migrate", "src", "--confirm-timeout", "300ms").must(t, exit.CodeDone)
	files.check(t, s)
}

// The test verifies that an interrupt ends a command that waits for an answer.
func TestInterruptAtAQuestion(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside")
	}
	s := startService(t, sandbox.Options{})
	p := assetferry(t, t.TempDir(), s.variables(), "doctor", "--probe")
	asked := whenPrinted(t, p, "Continue?")
	silent, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	interrupt(t, p)
	if code, err := exitCode(p.Wait()); code != exit.CodeInterrupted {
		t.Errorf("exit code %d (%v), want %d", code, err, exit.CodeInterrupted)
	}
}

// The test verifies that an interrupt ends plan at once, because it has nothing to finish.
func TestInterruptPlan(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside")
	}
	dir := t.TempDir()
	smallTree(3).write(t, dir+"/src")
	s := startService(t, sandbox.Options{})
	reached, open := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(open) })
	var once sync.Once
	s.onRequest(func(r *http.Request) {
		once.Do(func() { close(reached) })
		<-open
	})
	p := assetferry(t, dir, s.variables(), "plan", "src", "--json")
	p.follow(t)
	<-reached
	interrupt(t, p)
	if code := p.wait(t); code != exit.CodeInterrupted {
		t.Fatalf("exit code %d, want %d\n%s", code, exit.CodeInterrupted, p.stderr.String())
	}
	c := call{command: "plan", json: true, code: exit.CodeInterrupted, stdout: p.stdout.String(), stderr: p.stderr.String()}
	if err := c.check(); err != nil {
		t.Error(err)
	}
}

func interrupt(t *testing.T, p *process) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

// whenPrinted returns a channel that is closed when a process has printed a text to stderr.
func whenPrinted(t *testing.T, p *process, text string) <-chan struct{} {
	t.Helper()
	w := &waiter{Writer: &p.stderr, text: text, printed: make(chan struct{})}
	p.Stderr = w
	return w.printed
}

type waiter struct {
	io.Writer
	text, seen string
	printed    chan struct{}
}

func (w *waiter) Write(b []byte) (int, error) {
	before := strings.Contains(w.seen, w.text)
	w.seen += string(b)
	if !before && strings.Contains(w.seen, w.text) {
		close(w.printed)
	}
	return w.Writer.Write(b)
}
