package statecmd

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
	"assetferry/state"
)

// The test verifies that an interrupt during a query of the state database is reported as an
// interrupt, and not as an error of the database.
func TestInterruptLook(t *testing.T) {
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(exit.ErrInterrupted)
	f := &command.Factory{Out: ui.New(ui.Options{Stdout: io.Discard, Stderr: io.Discard, Progress: "none"})}
	if err := follow(ctx, f, store); !errors.Is(err, exit.ErrInterrupted) {
		t.Errorf("the interrupt ended it with %v", err)
	}
}
