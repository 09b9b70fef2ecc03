//go:build unix

package fortnight_test

import (
	"cmp"
	"testing"

	"assetferry/internal/seedtest"
)

// TestFortnight has two weeks pass. Another fortnight is
//
//	go test ./internal/fortnight -seed 2
func TestFortnight(t *testing.T) {
	t.Parallel()
	seed := cmp.Or(seedtest.Flagged(), 1) // the same each time, unless there is one
	w := newWorld(t, seed)
	for _, s := range script(w.dice) {
		if w.live(s); t.Failed() {
			t.Fatalf("with -seed %d", seed)
		}
	}
	w.prove()
}
