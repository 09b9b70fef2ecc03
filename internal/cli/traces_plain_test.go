//go:build !strace

package cli

import "testing"

// seesCalls is whether files are seen that are gone in the end.
const seesCalls = false

// systemCalls are only seen with the tag strace.
type systemCalls struct{}

func watchCalls(*testing.T, *process, string) func() systemCalls {
	return func() systemCalls { return systemCalls{} }
}

func (systemCalls) compare(*testing.T, traced, string, map[string]bool) {}
