// Package faults makes the surroundings of a migration fail, for tests: one call
// of many to the service, the source or the state database, or all from one on. Each
// injector wraps the real thing, or is its hook, and counts the calls that its kind of fault can
// strike.
package faults

import (
	"errors"
	"sync/atomic"
)

// Err is in every error that comes from an injector and not from what it wraps.
var Err = errors.New("a fault made by a test")

// A Moment is the call of many at which something goes wrong, alone or with all
// that come after it.
type Moment struct {
	n     int64
	lasts bool
	calls atomic.Int64
}

// At is the n-th call, counting from 0.
func At(n int) *Moment { return &Moment{n: int64(n)} }

// From is the n-th call, counting from 0, and every one after it.
func From(n int) *Moment { return &Moment{n: int64(n), lasts: true} }

// comes counts a call and reports whether it goes wrong.
func (m *Moment) comes() bool {
	call := m.calls.Add(1) - 1
	return call == m.n || m.lasts && call > m.n
}

// Came reports whether a call has gone wrong.
func (m *Moment) Came() bool { return m.calls.Load() > m.n }
