//go:build !race

package longtest

// Raced reports whether the race detector is enabled.
const Raced = false
