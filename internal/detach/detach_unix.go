//go:build unix

// Package detach takes a process out of reach of its terminal.
package detach

import (
	"os"
	"syscall"

	"golang.org/x/term"
)

// FromTerminal takes this process out of reach of the terminal if a shell started it in the
// background without job control, as in eval "$(assetferry sandbox &)". It shares the group
// of the shell then, and Ctrl-C at the prompt, or Ctrl-Z, would meet it, too. Such a shell
// lets it read from the null device; who runs in the foreground, or as a job, is left alone.
func FromTerminal() {
	if !readsNothing() || syscall.Getpgrp() == os.Getpid() {
		return
	}
	terminal, err := os.Open("/dev/tty") // only there are keys that end a process
	if err != nil {
		return
	}
	defer func() { _ = terminal.Close() }()
	if term.IsTerminal(int(terminal.Fd())) {
		_, _ = syscall.Setsid() // it fails for leaders of groups alone, which this one is not
	}
}

// readsNothing reports whether stdin is the null device.
func readsNothing() bool {
	in, err := os.Stdin.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(in, null)
}
