//go:build !unix

package local

// nonblock is not needed where directories hold no pipes.
const nonblock = 0
