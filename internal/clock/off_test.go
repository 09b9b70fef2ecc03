//go:build !testclock

package clock_test

import (
	"testing"
	"time"

	"assetferry/internal/clock"
)

// TestNowIsThePresent verifies that a release build ignores the variable.
func TestNowIsThePresent(t *testing.T) {
	for _, moved := range []string{"+34h30m", "2026-03-01T02:00:00Z", "nonsense"} {
		t.Setenv(clock.Variable, moved)
		before := time.Now()
		now := clock.Now()
		if now.Before(before) || now.After(time.Now()) {
			t.Errorf("with %s=%s it is %v, and not %v", clock.Variable, moved, now, before)
		}
	}
}
