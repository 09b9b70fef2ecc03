//go:build !race

package rewrite

const inflated = 1
