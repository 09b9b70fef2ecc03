//go:build !linux

package rclone

// residentMemory returns 0: the figure is only used on Linux.
func residentMemory(int) (now, peak int64) { return 0, 0 }
