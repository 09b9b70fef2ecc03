// Package shell quotes words for a shell, and splits command lines into words.
package shell

import (
	"strings"

	"assetferry/internal/pattern"
)

var plainWord = pattern.Lazy(`^[\w./:@%+=,-]+$`)

// Word quotes a word if a shell would change it.
func Word(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return Quote(s)
}

// Quote quotes a text in any case.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
