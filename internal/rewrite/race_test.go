//go:build race

package rewrite

// inflated is how many times as much memory the race detector takes, for what it keeps
// beside each byte.
const inflated = 8
