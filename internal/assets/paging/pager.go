package paging

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

const (
	// maxRepeats is the number of consecutive pages without new items after which the service is
	// assumed to ignore the offset.
	maxRepeats = 4
	// maxRetreats is the maximum number of times that a list may become shorter while it is read.
	maxRetreats = 100
)

// A Pager reads a list page by page.
type Pager[T any] struct {
	Fetch func(ctx context.Context, limit, offset int) (Page[T], error)
	ID    func(T) string
	Limit int
	// Overlap makes a page begin with the last item of the previous one. If it does not, items
	// moved below the offset; the total does not show this if as many were added.
	Overlap bool
	// Last reports, for the new items of a page, whether the rest of the list is not needed; it may
	// be nil.
	Last func(fresh []T) bool

	offset   int
	lapped   bool // the page at the offset overlaps the previous one
	total    int  // as of the previous page
	repeats  int
	retreats int
	recent   recent
}

// Items yields each item of the list once, as far as possible with pages by offset: items that are
// added or removed meanwhile shift the rest. Items that reappear soon are skipped. If the list
// becomes shorter, the offset is reduced by as many items, and by a page if overlapping pages do
// not overlap, so that no item is missed.
func (p Pager[T]) Items(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		p := p // each loop has its own state
		for more := true; more; {
			got, err := p.read(ctx)
			if err != nil {
				yield(none, err)
				return
			}
			fresh := p.fresh(got.Items)
			for _, item := range fresh {
				if !yield(item, nil) {
					return
				}
			}
			if p.Last != nil && p.Last(fresh) {
				return
			}
			if more, err = p.advance(got, len(fresh)); err != nil {
				yield(none, err)
				return
			}
		}
	}
}

// read fetches the page at the offset. It reduces the offset until no item is below it unread.
func (p *Pager[T]) read(ctx context.Context) (Page[T], error) {
	for {
		got, err := p.Fetch(ctx, p.Limit, p.offset)
		if err != nil || !p.slipped(got) {
			return got, err
		}
		if err := p.retreat(got.Limit); err != nil {
			return got, err
		}
	}
}

// slipped reports whether an overlapping page begins with an unknown item, so that items in between
// would be missed.
func (p *Pager[T]) slipped(got Page[T]) bool {
	if len(got.Items) == 0 {
		return p.lapped && (got.TotalCount == nil || *got.TotalCount <= p.offset)
	}
	return p.lapped && !p.recent.has(p.ID(got.Items[0]))
}

// retreat reduces the offset by a number of items.
func (p *Pager[T]) retreat(by int) error {
	p.offset = max(0, p.offset-by)
	p.lapped = p.lapped && p.offset > 0
	if p.retreats++; p.retreats > maxRetreats {
		return errors.New("the list keeps changing")
	}
	return nil
}

// next moves the offset to the end of a page, or to its last item with Overlap.
func (p *Pager[T]) next(seen int) {
	p.offset += seen
	if p.lapped = p.Overlap && seen > 1; p.lapped {
		p.offset--
	}
}

// fresh returns the items that were not on the last pages.
func (p *Pager[T]) fresh(items []T) []T {
	p.recent.rotate()
	return slices.DeleteFunc(items, func(item T) bool { return !p.recent.add(p.ID(item)) })
}

// advance moves to the next page and reports whether there is one. A list that ends early or does
// not advance is an error: an incomplete list must not pass for a complete one.
func (p *Pager[T]) advance(got Page[T], fresh int) (more bool, err error) {
	if got.Final {
		return false, nil
	}
	seen := p.recent.size()
	if p.repeats++; fresh > 0 {
		p.repeats = 0
	}
	if p.repeats >= maxRepeats {
		return false, fmt.Errorf("the list does not advance after %d items", p.offset)
	}
	end := p.offset + seen
	if got.TotalCount == nil { // not documented; then only a page that is not full ends the list
		p.next(seen)
		return seen > 0 && seen >= got.Limit, nil
	}
	total := *got.TotalCount
	removed := p.total - total
	p.total = total
	if removed > 0 && p.offset > 0 && !p.lapped { // as many may have moved below the offset
		return true, p.retreat(removed)
	}
	if end < total && seen == 0 {
		return false, fmt.Errorf("list ends at %d of %d", end, total)
	}
	p.next(seen)
	return end < total, nil
}

// recent holds the IDs of this page and the two before.
type recent [3]map[string]bool

func (r *recent) rotate() {
	r[2], r[1], r[0] = r[1], r[0], map[string]bool{}
}

// add reports whether an ID is new.
func (r *recent) add(id string) bool {
	known := r.has(id)
	r[0][id] = true
	return !known
}

func (r *recent) has(id string) bool { return r[0][id] || r[1][id] || r[2][id] }

func (r *recent) size() int { return len(r[0]) }
