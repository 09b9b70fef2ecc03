// Package flagname turns the key of a setting into its flag. The engine names settings by their
// keys only.
package flagname

import (
	"strings"

	"assetferry/internal/pattern"
)

// Of returns the flag of a setting, without dashes.
func Of(key string) string { return strings.ReplaceAll(key, "_", "-") }

var braces = pattern.Lazy(`\{[a-z][a-z0-9_]*\}`)

// InText replaces the settings in a text by their flags: "see {min_age}" becomes "see --min-age".
// Use it for constant texts only, because keys and paths may contain braces.
func InText(text string) string {
	return braces().ReplaceAllStringFunc(text, func(name string) string { return "--" + Of(name[1:len(name)-1]) })
}
