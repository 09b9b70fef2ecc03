//go:build unix && !linux

package rewrite

// sameAttributes does nothing: there are no access control lists that the library reads.
func sameAttributes(path, as string) error { return nil }
