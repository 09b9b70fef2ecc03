//go:build race

package cli

// raced says that the race detector is at work, which makes the longest tests ten times
// slower. It looks for races, not for cases.
const raced = true
