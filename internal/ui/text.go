package ui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Sanitize makes text from the outside safe to show on one line. It escapes control
// characters, invalid bytes and characters that reorder text, so that a file name can neither
// control the terminal nor look like another name.
func Sanitize(s string) string { return clean(s, false) }

// clean is Sanitize that may keep line breaks and tabs.
func clean(s string, keepLines bool) string {
	safe := func(r rune) bool {
		return r != utf8.RuneError && !unicode.IsControl(r) && !reorders(r) || keepLines && (r == '\n' || r == '\t')
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case safe(r) || r == utf8.RuneError:
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// reorders reports whether r changes the order or the lines of the text around it.
func reorders(r rune) bool {
	switch {
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069': // embeddings, overrides, isolates
		return true
	case r == '\u061c', r == '\u200e', r == '\u200f': // direction marks
		return true
	case r == '\u2028', r == '\u2029', r == '\ufeff': // separators, byte order mark
		return true
	}
	return false
}

// textWidth returns the columns that s takes on a terminal.
func textWidth(s string) int { return uniseg.StringWidth(s) }

// Truncate cuts s to the given number of columns and marks the cut.
func Truncate(s string, columns int) string {
	if textWidth(s) <= columns {
		return s
	}
	const mark = "..."
	if columns < len(mark) {
		return ""
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		used += g.Width()
		if used > columns-len(mark) {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + mark
}
