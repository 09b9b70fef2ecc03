package retry

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

const (
	// maxCuts is how often content may be cut off with little progress in between.
	maxCuts = 4
	// progress is how many bytes are more than little.
	progress = 1 << 20
)

// Cuts decide whether content that was cut off is taken up again, unless that happens
// again and again. They begin with the offset at which it was opened.
type Cuts struct {
	mark int64 // where it was cut off last, or began
	n    int   // with little progress in between
}

// CutsFrom gives the cuts of content that is opened at an offset.
func CutsFrom(offset int64) Cuts { return Cuts{mark: offset} }

// Again waits a little before content of a size is taken up at an offset, at which it was
// cut off for a reason. If that was once too often it fails with a *CutError.
func (c *Cuts) Again(ctx context.Context, at, size int64, why error) error {
	if at-c.mark >= progress {
		c.n = 0
	}
	c.mark = at
	if c.n++; c.n > maxCuts {
		return &CutError{c.n, at, size, why}
	}
	return Sleep(ctx, rand.N(50*time.Millisecond<<c.n))
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

// Unwrap gives io.ErrUnexpectedEOF beside the reason.
func (e *CutError) Unwrap() []error { return []error{io.ErrUnexpectedEOF, e.Why} }
