//go:build !unix

// Package detach takes a process out of reach of its terminal.
package detach

// FromTerminal does nothing: on other systems no shell starts a process like that.
func FromTerminal() {}
