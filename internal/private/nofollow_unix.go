//go:build unix

package private

import (
	"os"
	"syscall"
)

// openNoFollow never waits: for a pipe that no process reads there is an error.
func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
