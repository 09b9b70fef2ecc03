// Package seedtest gives tests the seed of what they choose at random, so that what they
// found can be had again.
package seedtest

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that fixes the seed of all tests at once. It is
// that of the property tests, which read it themselves.
const Variable = "RAPID_SEED"

var flagged = flag.Uint64("seed", 0, "of what tests choose at random; 0 is that of "+Variable+", or else a new one")

// Flagged gives the seed of the flag -seed, 0 if there is none.
func Flagged() uint64 { return *flagged }

// Seed gives the seed of a test: that of the flag -seed, else that of [Variable], else a
// new one. The test logs it.
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

// Rand gives the random numbers of a test, by its [Seed].
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
