//go:build unix

package private

import (
	"os"
	"syscall"
)

// openNoFollow does not block: a pipe without a reader is an error.
func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
