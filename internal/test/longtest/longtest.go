// Package longtest sets the size of tests that could run for hours. By default they find common
// mistakes in seconds; with ASSETFERRY_TEST_LONG=1, as in CI, they run in full.
package longtest

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Variable is the environment variable that enables the long forms of all tests.
const Variable = "ASSETFERRY_TEST_LONG"

// Asked reports whether the long forms are enabled.
func Asked() bool { return os.Getenv(Variable) == "1" }

// Size returns the size of a test: usual, or long if the long forms are enabled.
func Size[T any](usual, long T) T {
	if Asked() {
		return long
	}
	return usual
}

// Fewer returns raced if the race detector is enabled, and usual otherwise: for tests that compute
// a lot in one goroutine, or repeat the same steps.
func Fewer[T any](usual, raced T) T {
	if Raced {
		return raced
	}
	return usual
}

// Takes reports whether a test runs one of many cases: one in n at random, or each in the long form
// and if the flag -run names cases.
func Takes(random *rand.Rand, n int) bool {
	return Asked() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") || random.IntN(n) == 0
}

// Parallel makes n tests run at a time, or as many as there are processors if those are more,
// unless the flag -parallel is set: for packages whose tests mostly wait. TestMain calls it.
func Parallel(n int) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		set("test.parallel", max(n, runtime.GOMAXPROCS(0)))
	}
}

// Checks sets the number of checks of each property test, unless the flag -rapid.checks is set.
// TestMain calls it.
func Checks(n int) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		set(f.Name, n)
	}
}

func set(name string, n int) {
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		panic(err) // the flag accepts a number
	}
}
