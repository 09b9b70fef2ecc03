//go:build unix

package local

import "syscall"

// nonblock opens a pipe without blocking.
const nonblock = syscall.O_NONBLOCK
