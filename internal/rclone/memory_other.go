//go:build !linux

package rclone

// residentMemory returns 0: other systems do not tell without more code than the figure is worth.
func residentMemory(int) (now, peak int64) { return 0, 0 }
