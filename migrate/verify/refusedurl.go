package verify

import (
	"fmt"
	"sync"

	"assetferry/sources"
)

// A RefusedURLError means that contents could not be verified, because their URLs must not be
// requested. That is no difference.
type RefusedURLError struct {
	Count int64       // of assets
	Key   sources.Key // an example
	Err   error       // error of that one
}

func (e *RefusedURLError) Error() string {
	if e.Count == 1 {
		return fmt.Sprintf("the content of %s could not be verified: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("the content of %d assets could not be verified, such as %s: %v", e.Count, e.Key, e.Err)
}

func (e *RefusedURLError) Unwrap() error { return e.Err }

// refusedURLs counts contents whose URLs were refused.
type refusedURLs struct {
	mu    sync.Mutex
	first *RefusedURLError
}

func (r *refusedURLs) add(key sources.Key, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = &RefusedURLError{Key: key, Err: err}
	}
	r.first.Count++
}

func (r *refusedURLs) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		return nil
	}
	return r.first
}
