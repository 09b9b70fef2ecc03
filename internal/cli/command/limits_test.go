package command

import (
	"strings"
	"testing"
	"time"

	"assetferry/internal/ratelimit"
)

func TestThrottledText(t *testing.T) {
	for _, tc := range []struct {
		held, took time.Duration
		shown      bool
	}{
		{0, time.Hour, false},
		{900 * time.Millisecond, time.Second, false},
		{2 * time.Second, 30 * time.Second, false},
		{3 * time.Second, 30 * time.Second, true},
		{9 * time.Second, time.Hour, false},
		{10 * time.Second, time.Hour, true},
	} {
		text := ThrottledText(ratelimit.Throttling{Refused: 1, Held: tc.held}, tc.took)
		if (text != "") != tc.shown || tc.shown && !strings.HasSuffix(text, " because of 1 refusal (429 or 503).") {
			t.Errorf("%v of %v: %q", tc.held, tc.took, text)
		}
	}
}
