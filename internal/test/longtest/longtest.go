// Package longtest says how much the tests try that could go on for hours. By default it is
// what finds a mistake of today in seconds; with ASSETFERRY_TEST_LONG=1 all of it, as in CI.
package longtest

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Variable is the environment variable that asks for the long forms of all tests.
const Variable = "ASSETFERRY_TEST_LONG"

// Asked reports whether the long forms are asked for.
func Asked() bool { return os.Getenv(Variable) == "1" }

// Size gives the size that a test has: usual, or long if that is asked for.
func Size[T any](usual, long T) T {
	if Asked() {
		return long
	}
	return usual
}

// Fewer gives the size that a test has where the race detector watches it, and the other one
// elsewhere: for tests that compute much and in one goroutine, or the same way again and again.
func Fewer[T any](usual, raced T) T {
	if Raced {
		return raced
	}
	return usual
}

// Takes reports whether one of many cases is tried: one in n by chance, or each in the long form
// and where the flag -run names cases.
func Takes(random *rand.Rand, n int) bool {
	return Asked() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") || random.IntN(n) == 0
}

// Parallel has tests run so many at a time, or as many as there are processors if those are
// more, unless the flag -parallel says otherwise: for packages whose tests wait more than they
// work. TestMain calls it.
func Parallel(n int) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		set("test.parallel", max(n, runtime.GOMAXPROCS(0)))
	}
}

// Checks has property tests make so many checks each, unless the flag -rapid.checks says
// otherwise. TestMain calls it.
func Checks(n int) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		set(f.Name, n)
	}
}

func set(name string, n int) {
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		panic(err) // a number is what it takes
	}
}
