// Package jsonscan reads JSON without reflection, in a third of the time of encoding/json.
package jsonscan

import (
	"encoding/json"
	"unicode/utf8"
)

// A Scanner reads JSON from the start of a text, without reflection. Each method skips white space,
// reads one value, and reports its success. The result is that of encoding/json. A text that a method
// refuses may nevertheless be valid, so encoding/json has to read it, from the start. A copy of a
// Scanner continues at the same place.
type Scanner struct {
	text   []byte
	at     int  // offset of the next byte
	cutOff bool // see IsCutOff
}

// New returns a scanner at the start of a text.
func New(text []byte) *Scanner { return &Scanner{text: text} }

// AtEnd reports whether only white space follows.
func (s *Scanner) AtEnd() bool { return s.Next() == 0 && s.at == len(s.text) }

// IsCutOff reports whether the text ended before the end of a value.
func (s *Scanner) IsCutOff() bool { return s.cutOff }

// Rest returns the text that was not read yet.
func (s *Scanner) Rest() []byte { return s.text[s.at:] }

// deepest is the maximum depth of a value that is skipped.
const deepest = 100

// Next returns the next byte that is not white space, without reading it; 0 at the end.
func (s *Scanner) Next() byte {
	for ; s.at < len(s.text); s.at++ {
		if c := s.text[s.at]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	s.cutOff = true
	return 0
}

// Skip reads the next byte if that is b.
func (s *Scanner) Skip(b byte) bool {
	if s.Next() != b {
		return false
	}
	s.at++
	return true
}

// word reads true, false or null. A byte that continues the word is refused later.
func (s *Scanner) word(text string) bool {
	end := s.at + len(text)
	if end > len(s.text) {
		s.cutOff = true
		return false
	}
	if string(s.text[s.at:end]) != text {
		return false
	}
	s.at = end
	return true
}

// Null reads null if that is the next value.
func (s *Scanner) Null() bool { return s.Next() == 'n' && s.word("null") }

// Text reads a string. The result is valid as long as the text of the scanner.
func (s *Scanner) Text() ([]byte, bool) {
	quoted, plain := s.quoted()
	if plain {
		return quoted[1 : len(quoted)-1], true
	}
	var text string
	if quoted == nil || json.Unmarshal(quoted, &text) != nil {
		return nil, false
	}
	return []byte(text), true
}

// quoted reads a string with its quotation marks; nil if there is none. It is plain if it is valid
// UTF-8 without escapes.
func (s *Scanner) quoted() (quoted []byte, plain bool) {
	if s.Next() != '"' {
		return nil, false
	}
	escaped, ascii := false, true
	text := s.text[s.at:]
	for n := 1; n < len(text); n++ {
		switch c := text[n]; {
		case c == '"':
			s.at += n + 1
			return text[:n+1], !escaped && (ascii || utf8.Valid(text[:n]))
		case c == '\\':
			escaped = true
			n++ // it may be a quotation mark
		case c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.cutOff = true
	return nil, false
}

// Object reads an object. It calls field with each key, to read its value.
func (s *Scanner) Object(field func(key []byte) bool) bool {
	return s.list('{', '}', func() bool {
		key, ok := s.Text()
		return ok && s.Skip(':') && field(key)
	})
}

// Array reads an array. It calls item to read each item.
func (s *Scanner) Array(item func() bool) bool { return s.list('[', ']', item) }

func (s *Scanner) list(begin, end byte, member func() bool) bool {
	if !s.Skip(begin) {
		return false
	}
	if s.Skip(end) {
		return true
	}
	for member() {
		if s.Skip(end) {
			return true
		}
		if !s.Skip(',') {
			break
		}
	}
	return false
}

// Integer reads an integer of at most 18 digits, without a sign.
func (s *Scanner) Integer() (value int64, ok bool) {
	text := s.number()
	if len(text) == 0 || len(text) > 18 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for _, c := range text {
		if value = 10*value + int64(c-'0'); c < '0' || c > '9' {
			return 0, false
		}
	}
	return value, true
}

// number reads the bytes that may belong to a number; none if the text ends with them.
func (s *Scanner) number() []byte {
	s.Next()
	text := s.text[s.at:]
	for n, c := range text {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			s.at += n
			return text[:n]
		}
	}
	s.cutOff = true
	return nil
}

// Value reads any value and returns its JSON.
func (s *Scanner) Value() (text []byte, ok bool) {
	s.Next()
	begin := s.at
	ok = s.value(deepest)
	return s.text[begin:s.at], ok
}

func (s *Scanner) value(depth int) (ok bool) {
	if depth == 0 {
		return false
	}
	switch s.Next() {
	case '"':
		_, ok = s.Text()
	case '{':
		ok = s.Object(func([]byte) bool { return s.value(depth - 1) })
	case '[':
		ok = s.Array(func() bool { return s.value(depth - 1) })
	case 't':
		ok = s.word("true")
	case 'f':
		ok = s.word("false")
	case 'n':
		ok = s.word("null")
	default:
		ok = json.Valid(s.number())
	}
	return ok
}
