//go:build !race

package longtest

// Raced says that the race detector is at work.
const Raced = false
