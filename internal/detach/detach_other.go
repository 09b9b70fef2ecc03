//go:build !unix

// Package detach takes a process out of reach of its terminal.
package detach

// FromTerminal does nothing: shells of other systems do not start processes in this way.
func FromTerminal() {}
