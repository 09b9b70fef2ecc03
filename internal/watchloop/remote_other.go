//go:build !linux

package watchloop

// isRemote returns false, because this system is not supported.
func isRemote(string) bool { return false }
