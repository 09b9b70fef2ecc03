//go:build !unix

package cli

// detach does nothing: on other systems no shell starts a process like that.
func detach() {}
