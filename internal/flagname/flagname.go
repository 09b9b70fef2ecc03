// Package flagname knows how the names of settings become flags. The rest of the program
// names a setting by its key; only this turns it into what a person types.
package flagname

import (
	"regexp"
	"strings"
)

// Of returns the name of the flag that has a setting of this key in the file, without dashes.
func Of(key string) string { return strings.ReplaceAll(key, "_", "-") }

var braces = regexp.MustCompile(`\{[a-z][a-z0-9_]*\}`)

// InText returns a text with the flag for each setting that it names, so "see {min_age}" is
// "see --min-age". Give it fixed texts only: a key or a path may have braces of its own.
func InText(text string) string {
	return braces.ReplaceAllStringFunc(text, func(name string) string { return "--" + Of(name[1:len(name)-1]) })
}
