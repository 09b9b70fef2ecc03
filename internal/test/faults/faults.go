// Package faults injects failures into the dependencies of a migration, for tests: it makes one
// call to the service, the source or the state database fail, or all from one on. Each injector
// wraps a real dependency, or is a hook of it, and counts the calls that can fail in its way.
package faults

import (
	"errors"
	"sync/atomic"
)

// Err is in every error that an injector causes, and in no error of what it wraps.
var Err = errors.New("a fault made by a test")

// A Moment is the number of the call that fails, alone or with all later ones.
type Moment struct {
	n     int64
	lasts bool
	calls atomic.Int64
}

// At returns the moment of the n-th call, counting from 0.
func At(n int) *Moment { return &Moment{n: int64(n)} }

// From returns the moment of the n-th call, counting from 0, and all later ones.
func From(n int) *Moment { return &Moment{n: int64(n), lasts: true} }

// comes counts a call and reports whether it fails.
func (m *Moment) comes() bool {
	call := m.calls.Add(1) - 1
	return call == m.n || m.lasts && call > m.n
}

// Came reports whether a call has failed.
func (m *Moment) Came() bool { return m.calls.Load() > m.n }
