//go:build testclock

package clock

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// offset returns the offset that the environment sets.
var offset = sync.OnceValue(func() time.Duration {
	text := os.Getenv(Variable)
	if text == "" {
		return 0
	}
	if instant, err := time.Parse(time.RFC3339, text); err == nil {
		return time.Until(instant)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("%s=%q: want a duration such as +34h30m, or an instant such as 2026-03-01T02:00:00Z", Variable, text))
	}
	return d
})

// Now returns the present time with the offset that [Variable] sets.
func Now() time.Time { return time.Now().Add(offset()) }
