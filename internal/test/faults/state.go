package faults

import (
	"fmt"

	"assetferry/state"
)

// A StateFault is a way for a state database to fail.
type StateFault struct {
	Name string
	done bool
}

// StateFaults returns all ways for a state database to fail: before an operation, and after it
// although it is done.
func StateFaults() []StateFault { return []StateFault{{"undone", false}, {"done", true}} }

// Hook returns a hook that makes a store fail at a moment. Each query, each transaction and each
// row of a listing counts as a call.
func (k StateFault) Hook(at *Moment) state.Hook {
	return func(_ string, done bool) error {
		if done != k.done || !at.comes() {
			return nil
		}
		return fmt.Errorf("%w: the disk is full", Err)
	}
}
