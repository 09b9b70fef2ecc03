package undo

import (
	"context"
	"errors"
	"testing"

	"assetferry/internal/retry"
	"assetferry/migrate"
)

// Of what goes wrong with several assets at once, the state database's error is not hidden by the
// first that may pass.
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
