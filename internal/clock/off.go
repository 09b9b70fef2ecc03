//go:build !testclock

package clock

import "time"

// Now is the present time. Built with the tag testclock, it is another one if
// [Variable] says so.
func Now() time.Time { return time.Now() }
