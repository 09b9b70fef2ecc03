package retry

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// progress is how many bytes are more than little.
const progress = 1 << 20

// Cuts decide whether content that was cut off is taken up again, unless that happens
// again and again. They begin with the offset at which it was opened.
type Cuts struct {
	// Most is how often content may be cut off with little progress in between.
	Most int
	// Pause is the longest pause after the first cut; it doubles with each.
	Pause time.Duration

	mark int64 // where it was cut off last, or began
	n    int   // with little progress in between
}

// CutsFrom gives the cuts of content that is opened at an offset.
func CutsFrom(offset int64) Cuts { return Cuts{Most: 4, Pause: 100 * time.Millisecond, mark: offset} }

// Again waits a little before content of a size is taken up at an offset, at which it was
// cut off for a reason. If that was once too often it fails with a *CutError.
func (c *Cuts) Again(ctx context.Context, at, size int64, why error) error {
	if at-c.mark >= progress {
		c.n = 0
	}
	c.mark = at
	if c.n++; c.n > c.Most {
		return &CutError{c.n, at, size, why}
	}
	return Sleep(ctx, rand.N(c.Pause<<(c.n-1)))
}

// A CutError says that content does not come to its end.
type CutError struct {
	Cuts     int
	At, Size int64
	Why      error
}

func (e *CutError) Error() string {
	return fmt.Sprintf("cut off %d times, at byte %d of %d now: %v", e.Cuts, e.At, e.Size, e.Why)
}

// Class implements Classified, whatever cut it off last.
func (e *CutError) Class() Class { return Transient }

// Unwrap gives io.ErrUnexpectedEOF beside the reason.
func (e *CutError) Unwrap() []error { return []error{io.ErrUnexpectedEOF, e.Why} }
