// Package scheduletest reads the output of schedule as systemd does.
package scheduletest

import "strings"

// Words splits a line as the manual of systemd describes: words between spaces, quotes, backslashes
// before a literal character, and "%%" for "%". A word ";" would end the command.
func Words(line string) (words []string) {
	word, begun, quote := "", false, rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\':
			i++
			word, begun = word+string(runes[i]), true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				words = append(words, word)
			}
			word, begun = "", false
		case quote == 0 && !begun && r == ';':
			return append(words, "the end of the command")
		default:
			word, begun = word+string(r), true
		}
	}
	if begun {
		words = append(words, word)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "%%", "%")
	}
	return words
}
