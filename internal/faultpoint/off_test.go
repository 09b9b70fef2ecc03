//go:build !faultpoints

package faultpoint_test

import (
	"testing"

	"assetferry/internal/faultpoint"
)

// TestHitDoesNothing verifies that a release build ignores the variable.
func TestHitDoesNothing(t *testing.T) {
	for _, p := range faultpoint.All() {
		t.Setenv(faultpoint.Variable, string(p)+":1")
		faultpoint.Hit(p)
	}
}
