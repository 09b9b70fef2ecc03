//go:build race

package engine

// slowdown is how much less the longest tests try under the race detector, which
// makes them ten times slower. It looks for races, not for cases.
const slowdown = 5
