package shell

import (
	"errors"
	"strings"
)

var errQuote = errors.New("a quote is not closed")

// Split returns the words of a command line, split like a shell but without expansion. Blanks
// separate words. '…' is literal. "…" is literal except for \" and \\. Elsewhere \ makes the next
// character literal.
func Split(line string) ([]string, error) {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" {
			return words, nil
		}
		word, rest, err := cutWord(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), rest
	}
}

// cutWord returns the first word of a line that does not begin with a blank.
func cutWord(line string) (word, rest string, err error) {
	var w strings.Builder
	var quote byte // 0 outside quotes
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote && quote != 0:
			quote = 0
		case quote == '\'':
			w.WriteByte(c)
		case c == '\\' && i+1 < len(line) && (quote == 0 || line[i+1] == '"' || line[i+1] == '\\'):
			i++
			w.WriteByte(line[i])
		case quote == '"':
			w.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(" \t\r\n", c) >= 0:
			return w.String(), line[i:], nil
		default:
			w.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", errQuote
	}
	return w.String(), "", nil
}
