//go:build unix

package dailyruns_test

import (
	"cmp"
	"testing"

	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// TestFortnight runs two weeks with each interpretation of the service's documentation, or in the
// short form one week with one of them. Another seed or another interpretation is
//
//	go test ./internal/test/dailyruns -seed 2
//	go test ./internal/test/dailyruns -reading "folders: flat; category_listing: direct; list_order: ignored"
func TestFortnight(t *testing.T) {
	one := sandboxtest.Reading(int(seedtest.Seed(t) % 2))
	for _, reading := range longtest.Size([]string{one}, sandboxtest.Readings()) {
		t.Run(reading, func(t *testing.T) {
			t.Parallel()
			live(t, reading)
		})
	}
}

func live(t *testing.T, reading string) {
	seed := cmp.Or(seedtest.Flagged(), 1) // the same each time, unless the flag gives a seed
	w := newWorld(t, seed, reading)
	days := script(w.dice)
	for _, s := range days[:longtest.Size(len(days)/2, len(days))] {
		if w.live(s); t.Failed() {
			t.Fatalf("with -seed %d", seed)
		}
	}
	w.verify()
}
