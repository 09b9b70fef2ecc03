//go:build race

package longtest

// Raced says that the race detector is at work, which makes what computes ten times slower. It
// looks for races, not for cases.
const Raced = true
