package paging

import (
	"context"
	"errors"
	"sync"

	"assetferry/internal/outbound"
)

// smallestPage is the size of a page at which a refusal is not about the size.
const smallestPage = 10

// Sizes know, by route, how large a page may be. That is not documented; we guess that a service
// refuses a larger page, if it does not shorten it.
type Sizes struct {
	// Refused reports whether an error may be the refusal of a page for its size.
	Refused func(error) bool

	mu     sync.Mutex
	routes map[string]bounds
}

// Bounds are what a route made of the sizes that it was asked for.
type bounds struct {
	accepted int // the largest one; 0: not known
	refused  int // the smallest one; 0: not known
}

// Fetch makes the Fetch of a [Pager] of a function that asks a route for a page. It asks for
// smaller ones as long as they are refused, or would take too much memory.
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
		if got.plain && offset == 0 && len(got.Items) > size {
			got.Final = true // where more come than were asked for, nothing is paged
		}
		if got.Limit <= 0 || got.Limit > size { // a service may allow less than we ask for
			got.Limit = size
		}
		return got, err
	}
}

// ask calls get with the limit, and as long as that is refused with half of it.
// It returns the size that was accepted. If none is, the error is that of the
// first try.
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

// atMost returns the limit, or if it is known to be refused, what is accepted.
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

// note takes down that a size was accepted, after the refused one if there is one.
func (s *Sizes) note(route string, accepted, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.routes[route]
	known.accepted = max(known.accepted, accepted)
	if refused > 0 {
		known.refused = refused
		if known.accepted >= refused { // with smaller items
			known.accepted = accepted
		}
	}
	if s.routes == nil {
		s.routes = map[string]bounds{}
	}
	s.routes[route] = known
}

// A tooLargeError says that a page takes too much memory, though it has no more items than
// were asked for.
type tooLargeError struct{ error }

func (e *tooLargeError) Unwrap() error { return e.error }
