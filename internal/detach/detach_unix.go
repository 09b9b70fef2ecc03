//go:build unix

// Package detach separates a process from its terminal.
package detach

import (
	"os"
	"syscall"

	"golang.org/x/term"
)

// FromTerminal separates this process from the terminal if a shell started it in the background
// without job control, as in eval "$(assetferry sandbox &)". Such a process is in the process group
// of the shell, so Ctrl-C and Ctrl-Z at the prompt would signal it, too. It can be recognized
// because the shell redirects its stdin from the null device. A process in the foreground, or a
// job, stays unchanged.
func FromTerminal() {
	if !readsNothing() || syscall.Getpgrp() == os.Getpid() {
		return
	}
	terminal, err := os.Open("/dev/tty") // without a terminal no key sends a signal
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
