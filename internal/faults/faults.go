// Package faults makes the surroundings of a migration fail, for tests: one call
// of many to the service, the source or the journal. Each injector wraps the real
// thing, counts the calls that its kind of fault can strike, and strikes once.
package faults

import (
	"errors"
	"sync/atomic"
)

// Err is in every error that comes from an injector and not from what it wraps.
var Err = errors.New("a fault made by a test")

// A Moment is the one call of many at which something goes wrong.
type Moment struct {
	n     int64
	calls atomic.Int64
}

// At is the n-th call, counting from 0.
func At(n int) *Moment { return &Moment{n: int64(n)} }

// comes counts a call and reports whether it is the one.
func (m *Moment) comes() bool { return m.calls.Add(1) == m.n+1 }

// Came reports whether that call has been made.
func (m *Moment) Came() bool { return m.calls.Load() > m.n }
