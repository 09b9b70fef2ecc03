//go:build !faultpoints

package faultpoint

// Hit says that the process is at a point. Built with the tag faultpoints, it
// ends the process there, as if it were killed, if [Variable] says so.
func Hit(Point) {}
