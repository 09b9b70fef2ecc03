//go:build !unix

package local

// nonblock is not needed where directories contain no pipes.
const nonblock = 0
