//go:build unix

package fortnight_test

import (
	"flag"
	"testing"
)

var seed = flag.Uint64("seed", 1, "of what happens by chance in TestFortnight")

// TestFortnight has two weeks pass. Another fortnight is
//
//	go test ./internal/fortnight -seed 2
func TestFortnight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, *seed)
	for _, s := range script(w.dice) {
		if w.live(s); t.Failed() {
			t.Fatalf("with -seed %d", *seed)
		}
	}
	w.prove()
}
