package redact

import (
	"strconv"
	"strings"
)

// escapes are the characters that begin one.
const escapes = "%\\&\x1b"

// A walker iterates over the significant characters of a text, and decodes escapes.
type walker struct {
	*index
	text string
	raw  bool // escapes are not decoded

	at     int      // behind the last character
	window uint64   // the last eight characters
	count  int      // so far
	begins [run]int // where each of the last eight begins
}

// next moves to the next character, and reports whether there is one.
func (w *walker) next() bool {
	for w.at < len(w.text) {
		c, size := w.text[w.at], 1
		switch w.kinds[c] {
		case skipped:
			w.at++
			continue
		case escaping:
			if !w.raw {
				c, size = unescape(w.text[w.at:])
			}
			if w.kinds[c] != significant {
				w.at += size
				continue
			}
		}
		w.begins[w.count%run] = w.at
		w.at += size
		w.count++
		w.window = w.window<<8 | uint64(c)
		return true
	}
	return false
}

// unescape reads the escape at the beginning of a text: the character that it stands for, 0 if
// that is none of a secret, and its size.
func unescape(text string) (c byte, size int) {
	switch text[0] {
	case '%':
		return percent(text)
	case '\\':
		return backslash(text)
	case '&':
		return entity(text)
	}
	return control(text)
}

// percent reads %41, which may itself be encoded: %2541.
func percent(text string) (byte, int) {
	at := 1
	for strings.HasPrefix(text[at:], "25") && len(text) >= at+4 && isHex(text[at+2:at+4]) {
		at += 2
	}
	if len(text) < at+2 || !isHex(text[at:at+2]) {
		return 0, 1
	}
	return number(text[at:at+2], 16), at + 2
}

// backslash reads a JSON escape. Escapes other than \u encode characters that occur in no secret.
// An escaped backslash is left to the next escape.
func backslash(text string) (byte, int) {
	switch {
	case len(text) >= 6 && text[1] == 'u' && isHex(text[2:6]):
		return number(text[2:6], 16), 6
	case len(text) >= 4 && text[1] == 'x' && isHex(text[2:4]):
		return number(text[2:4], 16), 4
	case len(text) >= 2 && strings.IndexByte("nrtbf", text[1]) >= 0:
		return 0, 2
	}
	return 0, 1
}

// entity reads &#65; or &#x41; and passes by those with a name.
func entity(text string) (byte, int) {
	const longest = 10
	end := strings.IndexByte(text[:min(len(text), longest)], ';')
	if end < 2 {
		return 0, 1
	}
	name := text[1:end]
	switch {
	case strings.HasPrefix(name, "#x"), strings.HasPrefix(name, "#X"):
		return number(name[2:], 16), end + 1
	case name[0] == '#':
		return number(name[1:], 10), end + 1
	case strings.IndexFunc(name, func(r rune) bool { return r < 'A' || r > 'z' }) >= 0:
		return 0, 1
	}
	return 0, end + 1
}

// control passes by a sequence that would drive a terminal.
func control(text string) (byte, int) {
	at := 1
	if !strings.HasPrefix(text[at:], "[") {
		return 0, at
	}
	for at++; at < len(text) && text[at] >= 0x20 && text[at] < 0x40; at++ {
	}
	return 0, min(at+1, len(text))
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

// number returns the character with a number, or 0 if that is not ASCII.
func number(text string, base int) byte {
	n, err := strconv.ParseUint(text, base, 7)
	if err != nil {
		return 0
	}
	return byte(n)
}
