//go:build unix

package fortnight_test

import (
	"cmp"
	"testing"

	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/seedtest"
)

// TestFortnight has two weeks pass, at a service under each reading of its documentation.
// Another fortnight, and one at another service, are
//
//	go test ./internal/fortnight -seed 2
//	go test ./internal/fortnight -reading "folders: flat; category_listing: direct; list_order: ignored"
func TestFortnight(t *testing.T) {
	for _, reading := range sandboxtest.Readings() {
		t.Run(reading, func(t *testing.T) {
			t.Parallel()
			live(t, reading)
		})
	}
}

func live(t *testing.T, reading string) {
	seed := cmp.Or(seedtest.Flagged(), 1) // the same each time, unless there is one
	w := newWorld(t, seed, reading)
	for _, s := range script(w.dice) {
		if w.live(s); t.Failed() {
			t.Fatalf("with -seed %d", seed)
		}
	}
	w.prove()
}
