// Package seedtest sets the seed of the random choices of tests, so that failures can be
// reproduced.
package seedtest

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that sets the seed of all tests at once. The property tests
// read the same one themselves.
const Variable = "RAPID_SEED"

var flagged = flag.Uint64("seed", 0, "of what tests choose at random; 0 is that of "+Variable+", or else a new one")

// Flagged returns the seed of the flag -seed, 0 if there is none.
func Flagged() uint64 { return *flagged }

// Seed returns the seed of a test: that of the flag -seed, else that of [Variable], else a new one.
// The test logs it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := Flagged()
	if text := os.Getenv(Variable); seed == 0 && text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s is no seed: %v", Variable, err)
		}
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	return seed
}

// Rand returns a source of random numbers for a test, with its [Seed].
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
