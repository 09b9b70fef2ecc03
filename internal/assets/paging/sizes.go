package paging

import (
	"context"
	"errors"
	"sync"

	"assetferry/internal/outbound"
)

// smallestPage is the page size below which a refusal does not concern the size.
const smallestPage = 10

// Sizes records the accepted page sizes by route. They are not documented; it is a guess that a
// service refuses larger pages, if it does not shorten them.
type Sizes struct {
	// Refused reports whether an error may be the refusal of a page size.
	Refused func(error) bool

	mu     sync.Mutex
	routes map[string]bounds
}

// bounds are the accepted and refused page sizes of a route.
type bounds struct {
	accepted int // the largest accepted size; 0: unknown
	refused  int // the smallest refused size; 0: unknown
}

// Fetch returns the Fetch of a [Pager] from a function that requests a page. It requests smaller
// pages if they are refused, or would take too much memory.
func Fetch[T any](s *Sizes, route string, ask func(ctx context.Context, limit, offset int) (Page[T], error)) func(context.Context, int, int) (Page[T], error) {
	return func(ctx context.Context, limit, offset int) (got Page[T], err error) {
		size, err := s.ask(route, limit, func(limit int) (err error) {
			got, err = ask(ctx, limit, offset)
			if _, large := errors.AsType[*outbound.TooLargeError](err); large && got.read <= limit {
				return &tooLargeError{err}
			}
			return err
		})
		if e, ok := errors.AsType[*tooLargeError](err); ok {
			err = e.error
		}
		if got.plain && offset == 0 && got.read > size {
			got.Final = true // a longer answer than requested means that the route is not paged
		}
		if got.Limit <= 0 || got.Limit > size { // the service may allow smaller pages only
			got.Limit = size
		}
		return got, err
	}
}

// ask calls get with the limit, and with half of it while that is refused. It returns the accepted
// size. If all sizes are refused, the error is that of the first attempt.
func (s *Sizes) ask(route string, limit int, get func(limit int) error) (size int, err error) {
	size, refused := s.atMost(route, limit), 0
	for {
		e := get(size)
		if e == nil {
			s.note(route, size, refused)
			return size, nil
		}
		_, large := errors.AsType[*tooLargeError](e)
		if !large && !s.Refused(e) {
			return 0, e
		}
		if err == nil {
			err = e
		}
		if size <= smallestPage || !large && s.accepted(route, size) {
			return 0, err
		}
		refused, size = size, max(size/2, smallestPage)
	}
}

// atMost returns the limit, or the accepted size if the limit is known to be refused.
func (s *Sizes) atMost(route string, limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.routes[route]; known.refused > 0 && limit >= known.refused {
		return min(limit, known.accepted)
	}
	return limit
}

// accepted reports whether pages of a size were accepted before.
func (s *Sizes) accepted(route string, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return size <= s.routes[route].accepted
}

// note records an accepted size, and the refused one before it if there is one.
func (s *Sizes) note(route string, accepted, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.routes[route]
	known.accepted = max(known.accepted, accepted)
	if refused > 0 {
		known.refused = refused
		if known.accepted >= refused { // possible with smaller items
			known.accepted = accepted
		}
	}
	if s.routes == nil {
		s.routes = map[string]bounds{}
	}
	s.routes[route] = known
}

// A tooLargeError reports a page that takes too much memory, although it has no more items than
// requested.
type tooLargeError struct{ error }

func (e *tooLargeError) Unwrap() error { return e.error }
