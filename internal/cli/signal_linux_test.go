package cli

import (
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"

	"golang.org/x/sys/unix"
)

// The test interrupts a migration whose output is not read, so that it can neither finish nor
// abort. It verifies that the third interrupt ends the process, and that the next run uploads the
// rest.
func TestInterruptThrice(t *testing.T) {
	t.Parallel()
	files := smallTree(300)
	dir := t.TempDir()
	files.write(t, dir+"/src")
	s := startService(t, sandbox.Options{})
	under := make(chan struct{})
	var first sync.Once
	s.onRequest(func(r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/assets" {
			first.Do(func() { close(under) })
		}
	})
	p := assetferry(t, dir, s.variables(), "migrate", "src", "--json", "--progress", "none")
	p.Stdout = fullPipe(t)
	shown := whenPrinted(t, p, "Interrupted: finishing work in progress")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	<-under
	interrupt(t, p)
	<-shown
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	code, err := interruptUntil(t, p, ended)
	if code != exit.CodeInterrupted {
		t.Fatalf("exit code %d (%v), want %d", code, err, exit.CodeInterrupted)
	}
	s.onRequest(nil)
	s.rest(t)
	assetferry(t, dir, s.variables(), "migrate", "src", "--confirm-timeout", "300ms").must(t, exit.CodeDone)
	files.check(t, s)
}

// interruptUntil sends interrupts repeatedly, because signals that arrive before the last one was
// handled are merged.
func interruptUntil(t *testing.T, p *process, ended <-chan error) (int, error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			code, _ := exitCode(err)
			return code, err
		case <-tick.C:
			_ = p.Process.Signal(os.Interrupt) // the process may have ended
		}
	}
}

// fullPipe returns a pipe that is full and never read.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return w
}
