package main

import (
	"fmt"
	"sync"
)

// arrivals counts the uploads of each object of a library at a server that discards contents.
type arrivals struct {
	mu    sync.Mutex
	seen  map[int]int // number of uploads by object
	wrong int         // number of uploads with content from outside the library
}

// record counts an upload. The object is the wrong one if ok is false.
func (a *arrivals) record(n int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !ok {
		a.wrong++
		return
	}
	if a.seen == nil {
		a.seen = map[int]int{}
	}
	a.seen[n]++
}

// check returns an error unless exactly the wanted number of objects was uploaded, each once.
func (a *arrivals) check(want int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	doubled := 0
	for _, times := range a.seen {
		if times > 1 {
			doubled++
		}
	}
	if len(a.seen) != want || doubled > 0 || a.wrong > 0 {
		return fmt.Errorf("got %d objects, want %d; %d duplicates, %d not in the library", len(a.seen), want, doubled, a.wrong)
	}
	return nil
}
