package undo

import (
	"context"
	"errors"
	"testing"

	"assetferry/internal/retry"
	"assetferry/migrate"
)

// TestRestorePrefersTheFatalError verifies that when several assets fail at once, an error of the
// state database is returned and not the first error that is temporary.
func TestRestorePrefersTheFatalError(t *testing.T) {
	rest, disk := errors.New("the rest failed"), errors.New("the disk is full")
	all := []*restoration{{}, {}, {}}
	answers := map[*restoration]error{all[0]: rest, all[1]: migrate.NewStateError(disk)}
	err := restoreMethod{concurrency: 1}.each(t.Context(), all, func(_ context.Context, c *restoration) error { return answers[c] })
	if !migrate.HasClass(err, retry.Fatal) || !errors.Is(err, disk) {
		t.Errorf("got %v, want the error of the state database", err)
	}
	delete(answers, all[1])
	err = restoreMethod{concurrency: 1}.each(t.Context(), all, func(_ context.Context, c *restoration) error { return answers[c] })
	if err != rest {
		t.Errorf("got %v, want the error of the first", err)
	}
}
