package faults

import (
	"fmt"

	"assetferry/state"
)

// A JournalKind is a way for a journal to fail.
type JournalKind struct {
	Name string
	done bool
}

// JournalKinds gives all ways for a journal to fail: before anything is done, and
// done although it says that it is not.
func JournalKinds() []JournalKind { return []JournalKind{{"undone", false}, {"done", true}} }

// Hook fails a store at a moment of all that it is asked for: each query, each transaction and
// each row of a listing counts.
func (k JournalKind) Hook(at *Moment) state.Hook {
	return func(_ string, done bool) error {
		if done != k.done || !at.comes() {
			return nil
		}
		return fmt.Errorf("%w: the disk is full", Err)
	}
}
