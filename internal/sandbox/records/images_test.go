package records

import (
	"fmt"
	"slices"
	"testing"
)

func TestWidths(t *testing.T) {
	for width, want := range map[int]string{
		1:    "[1]",
		80:   "[80]",
		81:   "[80 81]",
		376:  "[80 160 240 320 376]",
		800:  "[80 160 240 320 400 480 560 640 720 800]",
		1024: "[103 206 309 412 515 618 721 824 927 1024]",
		1920: "[192 384 576 768 960 1152 1344 1536 1728 1920]",
	} {
		if got := fmt.Sprint(Widths(width)); got != want {
			t.Errorf("%d: %s, want %s", width, got, want)
		}
	}
	for w := range 20000 {
		if ws := Widths(w + 1); len(ws) > 10 || !slices.IsSorted(ws) {
			t.Fatalf("%d: %v", w+1, ws)
		}
	}
}
