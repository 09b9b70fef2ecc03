package answer

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is made when it is first asked for: every command of
// assetferry holds this package, and hardly any has it answer.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
