package rclone

import (
	"errors"
	"testing"

	"assetferry/sources"
	"assetferry/sources/remote"
)

// TestNextSteps verifies that errors of this package have a next step, also when they are classified.
func TestNextSteps(t *testing.T) {
	for _, err := range []error{errOpen, errForeign, changed("it has 2 bytes")} {
		for _, err := range []error{err, ofObject(&remote.Failure{Err: err})} {
			e, ok := errors.AsType[*sources.Error]((&Source{}).fail(t.Context(), "open", "a", err))
			if !ok || e.Hint == "" || !errors.Is(e, err) {
				t.Errorf("%v: hint %q", err, e.Hint)
			}
		}
	}
}
