//go:build unix && !linux

package rewrite

// sameAttributes does nothing: the standard library does not read access control lists here.
func sameAttributes(path, as string) error { return nil }
