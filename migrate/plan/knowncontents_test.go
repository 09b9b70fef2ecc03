package plan

import (
	"strings"
	"testing"
)

// TestKnownContents verifies which contents of a source an asset has had.
func TestKnownContents(t *testing.T) {
	for _, test := range []struct {
		had, there string
		later      int // there[later:] was created after the asset got its content
		want       int
	}{
		{"a", "", 0, 0},
		{"a", "ab", 2, 1},
		{"a", "bc", 2, 0},       // the source has only newer ones
		{"abc", "abc", 3, 3},    // nothing is new
		{"abc", "bcd", 3, 2},    // the source has fewer
		{"c", "abcd", 4, 3},     // the asset has fewer
		{"a", "aba", 1, 1},      // only the time shows it
		{"a", "aba", 3, 3},      //
		{"a", "aba", 0, 1},      // a wrong clock
		{"xa", "xaba", 4, 2},    // the contents before it decide
		{"abca", "bca", 3, 3},   // restored
		{"abca", "abcad", 5, 4}, //
		{"abc", "ab", 2, 2},     // the newest was deleted at the source
		{"abx", "abd", 3, 2},    //
		{"aab", "aabb", 4, 3},   //
		{"eee", "eee", 3, 3},    //
		{"e", "eee", 3, 3},
		{"q", "qqq", 1, 1},
	} {
		got := knownContents(strings.Split(test.had, ""), strings.Split(test.there, ""), func(n int) bool { return n > test.later })
		if got != test.want {
			t.Errorf("asset %s, source %s, later from %d: %d are known, want %d", test.had, test.there, test.later, got, test.want)
		}
	}
}
