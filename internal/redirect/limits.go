package redirect

import (
	"fmt"
	"strconv"
)

// limits are the documented limits of a service on a whole map. 0 means none.
type limits struct {
	rows, bytes int64 // a larger map is refused, or the rest of it ignored
	who         string
	remedy      string

	advice func(Tally) string // for limits that the user can raise
}

// stops reports whether a map can be too large to write.
func (l limits) stops() bool { return l.rows > 0 || l.bytes > 0 }

// check returns a LimitError for a map that is too large.
func (l limits) check(t Tally, format string) error {
	switch {
	case l.rows > 0 && t.Written > l.rows:
		return &LimitError{format, t.Written, l.rows, "redirects", l}
	case l.bytes > 0 && t.Bytes > l.bytes:
		return &LimitError{format, t.Bytes, l.bytes, "bytes", l}
	}
	return nil
}

// A LimitError means that a whole map is larger than its service accepts. Nothing is written.
type LimitError struct {
	Format    string
	Got, Most int64
	unit      string
	limits    limits
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("--format %s: the map has %s %s, and %s %s", e.Format, grouped(e.Got), e.unit, e.limits.who, grouped(e.Most))
}

// Hint returns the next step.
func (e *LimitError) Hint() string { return e.limits.remedy }

// Advice returns what the user has to know about the size of a map, or "".
func (f Format) Advice(t Tally) string {
	if f.limits.advice == nil {
		return ""
	}
	return f.limits.advice(t)
}

// grouped returns a number with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
