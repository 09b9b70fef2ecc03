package assets

import (
	"errors"
	"net/http"
	"sync"
)

// smallestPage is the size of a page at which a refusal is not about the size.
const smallestPage = 10

// pageSizes knows, by route, how large a page may be. That is not documented; we
// guess that a service refuses a larger page with 400, if it does not shorten it.
type pageSizes struct {
	mu     sync.Mutex
	routes map[string]pageSize
}

// A pageSize is what a route made of the sizes that it was asked for.
type pageSize struct {
	accepted int // the largest one; 0: not known
	refused  int // the smallest one; 0: not known
}

// ask calls get with the limit, and as long as that is refused with half of it.
// It returns the size that was accepted. If none is, the error is that of the
// first try.
func (s *pageSizes) ask(route string, limit int, get func(limit int) error) (size int, err error) {
	size, refused := s.atMost(route, limit), 0
	for {
		e := get(size)
		if e == nil {
			s.note(route, size, refused)
			return size, nil
		}
		_, large := errors.AsType[*pageTooLargeError](e)
		if !large && !isBadRequest(e) {
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
func (s *pageSizes) atMost(route string, limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.routes[route]; known.refused > 0 && limit >= known.refused {
		return min(limit, known.accepted)
	}
	return limit
}

// accepted reports whether pages of a size were accepted before.
func (s *pageSizes) accepted(route string, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return size <= s.routes[route].accepted
}

// note takes down that a size was accepted, after the refused one if there is one.
func (s *pageSizes) note(route string, accepted, refused int) {
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
	s.routes[route] = known
}

// A pageTooLargeError says that a page takes too much memory, though it has no more items than
// were asked for.
type pageTooLargeError struct{ error }

func (e *pageTooLargeError) Unwrap() error { return e.error }

func isBadRequest(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusBadRequest
}
