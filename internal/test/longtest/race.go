//go:build race

package longtest

// Raced reports whether the race detector is enabled, which makes computations ten times slower.
// Tests with it search for races, not for cases.
const Raced = true
