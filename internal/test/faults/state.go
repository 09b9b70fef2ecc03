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

// StateFaults gives all ways for a state database to fail: before anything is done, and
// done although it says that it is not.
func StateFaults() []StateFault { return []StateFault{{"undone", false}, {"done", true}} }

// Hook fails a store at a moment of all that it is asked for: each query, each transaction and
// each row of a listing counts.
func (k StateFault) Hook(at *Moment) state.Hook {
	return func(_ string, done bool) error {
		if done != k.done || !at.comes() {
			return nil
		}
		return fmt.Errorf("%w: the disk is full", Err)
	}
}
