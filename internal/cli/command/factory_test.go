package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"assetferry/internal/ui"
)

// The test verifies that the first SIGHUP of a closed terminal drains the command, and that later
// ones have no effect.
func TestHangup(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var said bytes.Buffer
	signals := make(chan os.Signal)
	f := &Factory{Environment: Environment{Signals: signals}, Stop: make(chan struct{}), abort: cancel,
		Out: ui.New(ui.Options{Stdout: io.Discard, Stderr: &said, Progress: "none"})}
	f.Draining.Store(true)
	done, watched := make(chan struct{}), make(chan struct{})
	go func() { defer close(watched); f.watchSignals(done) }()
	for range 5 {
		signals <- syscall.SIGHUP
	}
	<-f.Stop
	if ctx.Err() != nil {
		t.Error("hangups abort what is in flight")
	}
	signals <- os.Interrupt // the first hangup was the first signal
	<-ctx.Done()
	close(done)
	<-watched
	if n := strings.Count(said.String(), "Interrupted"); n != 1 {
		t.Errorf("said %d times: %s", n, said.String())
	}
}
