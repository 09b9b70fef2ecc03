//go:build !race

package migrate_test

const slowdown = 1
