package retry

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// progress is the number of bytes after which the count of cuts starts again.
const progress = 1 << 20

// Cuts decide whether content is resumed after its transfer was cut off. They start with the offset
// at which it was opened.
type Cuts struct {
	// Most is the number of cuts in a row that are allowed with little progress.
	Most int
	// Pause is the longest pause after the first cut. It doubles with each cut.
	Pause time.Duration

	mark int64 // offset of the last cut, or of the start
	n    int   // cuts in a row with little progress
}

// CutsFrom returns the Cuts of content that is opened at an offset.
func CutsFrom(offset int64) Cuts { return Cuts{Most: 4, Pause: 100 * time.Millisecond, mark: offset} }

// Again waits before content of a size is resumed at the offset of a cut. After too many cuts it
// fails with a *CutError.
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

// A CutError reports that content was cut off too often.
type CutError struct {
	Cuts     int
	At, Size int64
	Why      error
}

func (e *CutError) Error() string {
	return fmt.Sprintf("cut off %d times, last at byte %d of %d: %v", e.Cuts, e.At, e.Size, e.Why)
}

// Class implements Classified, whatever the reason of the last cut.
func (e *CutError) Class() Class { return Transient }

// Unwrap returns io.ErrUnexpectedEOF and the reason.
func (e *CutError) Unwrap() []error { return []error{io.ErrUnexpectedEOF, e.Why} }
