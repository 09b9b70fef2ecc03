// Package pattern compiles regular expressions when they are first used. Most commands need none of
// them, and compiling all at the start took a third of the allocations of package initialization.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that returns the regular expression, which its first call compiles. It
// panics there if the expression is not valid. Inlined, its closures take 1 kB for each expression.
//
//go:noinline
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
