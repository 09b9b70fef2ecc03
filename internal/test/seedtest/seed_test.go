package seedtest

import (
	"flag"
	"testing"
)

func TestSeed(t *testing.T) {
	t.Setenv(Variable, "")
	if a, b := Seed(t), Seed(t); a == b || a == 0 || b == 0 {
		t.Errorf("nobody said a seed, and it is %d and %d", a, b)
	}
	t.Setenv(Variable, "7")
	if got := Seed(t); got != 7 {
		t.Errorf("the environment says 7, and it is %d", got)
	}
	if a, b := Rand(t).Uint64(), Rand(t).Uint64(); a != b {
		t.Errorf("one seed gives %d and %d", a, b)
	}
	was := *flagged
	t.Cleanup(func() { *flagged = was })
	if err := flag.Set("seed", "8"); err != nil {
		t.Fatal(err)
	}
	if got := Seed(t); got != 8 || Flagged() != 8 {
		t.Errorf("the flag says 8, and it is %d and %d", got, Flagged())
	}
}
