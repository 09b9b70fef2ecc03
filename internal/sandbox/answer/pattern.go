package answer

import (
	"regexp"
	"sync"
)

// pattern returns a regular expression that is compiled on first use, because few assetferry
// commands need it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
