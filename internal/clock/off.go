//go:build !testclock

package clock

import "time"

// Now returns the present time. In a build with the tag testclock, [Variable] changes it.
func Now() time.Time { return time.Now() }
