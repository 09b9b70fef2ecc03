//go:build !linux && !darwin && !windows

package state

import "os"

// birth tells a file from any copy of it. It is 0 where, as here, that is not known.
func birth(*os.File) int64 { return 0 }
