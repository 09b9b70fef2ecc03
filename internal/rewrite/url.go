package rewrite

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxURLLength is the maximum length in bytes of a URL, as spelled in the text.
const maxURLLength = 4096

// lookBehind is how many bytes before a word are read to find the beginning of a URL.
const lookBehind = 512

// A beginning is the offset of a URL in a text, and its spelling.
type beginning struct {
	at int
	spelling
	quote char // the quote or angle bracket before it; r is 0 if there is none
}

// beginAt finds the beginning of a URL from the offset of its host, or of its first folder.
func beginAt(text []byte, word int) (b beginning, ok bool) {
	s, at, ok := slashBefore(text, word)
	if !ok {
		return b, false
	}
	b = beginning{at: at, spelling: s}
	before := s.charBefore(text, at)
	if second, at, ok := slashBefore(text, b.at); ok && second.kind == s.kind && strings.EqualFold(second.slash, s.slash) {
		b.at = at
		if colon := s.colonBefore(text, at); colon >= 0 {
			scheme := schemeBefore(text, colon)
			if scheme == 0 {
				return b, false
			}
			b.at = colon - scheme
			before = s.charBefore(text, b.at)
			return b.after(before), !belongs(before, "")
		}
		before = s.charBefore(text, b.at)
	}
	return b.after(before), !belongs(before, `.:_~@+-}$*`)
}

func (b beginning) after(c char) beginning {
	if c.r == '"' || c.r == '\'' || c.r == '<' {
		b.quote = c
	}
	return b
}

// belongs reports whether a character is part of the same word as a URL after it. Then the URL is
// part of another text.
func belongs(c char, more string) bool {
	return c.r != 0 && c.r < utf8.RuneSelf && (isAlphanumeric(byte(c.r)) || strings.ContainsRune(`/%\`+more, c.r))
}

func isAlphanumeric(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

// schemeBefore returns the length of http: or https: before an offset, or 0.
func schemeBefore(text []byte, end int) int {
	for _, scheme := range [...]string{"https", "http"} {
		if n := len(scheme); end >= n && bytes.EqualFold(text[end-n:end], []byte(scheme)) {
			return n
		}
	}
	return 0
}

// A reading is a decoded piece of text that begins with a URL.
type reading struct {
	text     []byte
	raw      []int // for each byte and the end: its offset in the original text
	cuts     []int // earlier possible ends, ascending
	entities bool  // it has an &amp;
}

// maxCuts limits how many ends of a URL are tried. A text with so many brackets, commas and spaces
// is not a URL.
const maxCuts = 24

// read decodes a possible URL up to its last possible end.
func (r *reading) read(b beginning, text []byte) {
	r.text, r.raw, r.cuts, r.entities = r.text[:0], r.raw[:0], r.cuts[:0], false
	query, at := false, 0
	for at < len(text) && at < maxURLLength {
		if n := b.plain(text[at:min(len(text), maxURLLength)]); n > 0 { // the most frequent case
			r.text = append(r.text, text[at:at+n]...)
			for end := at + n; at < end; at++ {
				r.raw = append(r.raw, at)
			}
			continue
		}
		c := b.charAt(text[at:])
		if b.ends(c) {
			break
		}
		if !inURL(c.r, query) {
			if len(r.cuts) == maxCuts {
				r.drop()
				return
			}
			r.cuts = append(r.cuts, len(r.text))
		}
		query = query || c.r == '?'
		r.entities = r.entities || c.r == '&' && !c.raw && text[at] == '&'
		n := len(r.text)
		r.text = c.appendTo(r.text)
		for range len(r.text) - n {
			r.raw = append(r.raw, at)
		}
		at += c.size
	}
	r.raw = append(r.raw, at)
}

// plain returns the number of bytes at the beginning of a text that stand for themselves, and do not end
// a URL.
func (s spelling) plain(text []byte) (n int) {
	set := &plainBytes
	switch {
	case s.kind == percent:
		return 0
	case s.slash == "/":
		set = &plainAndSlash
	}
	for n < len(text) && set.has(text[n]) {
		n++
	}
	return n
}

// plainBytes stand for themselves in all spellings except percent-encoding.
var (
	plainBytes    = newByteSet("$%+-.:=@_~" + alphanumeric)
	plainAndSlash = newByteSet("/$%+-.:=@_~" + alphanumeric)
)

// drop removes the text after the last possible end of the URL.
func (r *reading) drop() {
	last := len(r.cuts) - 1
	r.text, r.raw = r.text[:r.cuts[last]], r.raw[:r.cuts[last]+1]
	r.cuts = r.cuts[:last]
}

// ends reports whether a character cannot be part of a URL in this context.
func (b beginning) ends(c char) bool {
	switch r := c.r; {
	case r == '"' || r == '<' || r == '>' || r == '`' || r == '\\':
		return true
	case r == '\'':
		return b.quote.r == 0 || b.quote.r == r && b.quote.raw == c.raw
	case r == ' ':
		return c.raw && b.quote.r == 0
	case r == noText:
		return false
	}
	return c.r < ' ' || c.r == 0x7f || unicode.IsSpace(c.r)
}

// inURL reports whether a character can be part of a URL and is no sign of its end.
func inURL(r rune, query bool) bool {
	switch {
	case r == noText:
		return true
	case r == '&':
		return query
	case r < utf8.RuneSelf:
		return isUnreserved(byte(r)) || strings.IndexByte("/%+@=:$?#", byte(r)) >= 0
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// ends yields the possible ends of a URL, the longest first. Each end also comes without the
// punctuation of a sentence.
func (r *reading) ends(yield func(end int) bool) {
	for n := len(r.cuts); n >= 0; n-- {
		end := len(r.text)
		if n < len(r.cuts) {
			end = r.cuts[n]
		}
		if !yield(end) {
			return
		}
		if trimmed := r.trim(end); trimmed < end && !yield(trimmed) {
			return
		}
	}
}

func (r *reading) trim(end int) int { return len(bytes.TrimRight(r.text[:end], ".:?")) }

// shortest returns the end of an unknown URL.
func (r *reading) shortest() int {
	end := len(r.text)
	if len(r.cuts) > 0 {
		end = r.cuts[0]
	}
	return r.trim(end)
}

// queryEnd returns the end of the query that begins at an offset. Punctuation may be in it, but not
// at its end.
func (r *reading) queryEnd(begin int) int {
	end := begin
	for rest := r.text[begin:]; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if c == '#' || !inURL(c, true) && !goesOn(c, rest[n:]) {
			break
		}
		rest, end = rest[n:], end+n
	}
	return max(begin, r.trim(end))
}

// goesOn reports whether a punctuation mark is part of a query, by the text after it.
func goesOn(mark rune, rest []byte) bool {
	return len(rest) > 0 && strings.ContainsRune(",;!*[]|", mark) && !bytes.HasPrefix(rest, []byte("http")) &&
		(isAlphanumeric(rest[0]) || strings.IndexByte("[]=&", rest[0]) >= 0)
}
