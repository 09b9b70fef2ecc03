package rewrite

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A spelling is the escaping of a URL in a text. A slash of https://a/b is \/ in JSON, \\/ in JSON in
// SQL, &#x2F; in some HTML, \u002F in some scripts, and %2F in the query of another URL.
type spelling struct {
	kind  spellingKind
	depth int    // number of percent-encodings
	slash string // as in the text
}

type spellingKind int

const (
	asIs          spellingKind = iota // /, with or without backslashes before it
	unicodeEscape                     // \u002F
	entity                            // &#x2F;
	percent                           // %2F
)

// Limits, so that no position in a text needs all of the text.
const (
	maxBackslashes = 31
	maxEntity      = 12 // bytes of &#x00002F;
	maxPercent     = 3  // percent-encodings of a slash
)

// slashBefore returns the spelling and the offset of the slash that ends at an offset.
func slashBefore(text []byte, end int) (s spelling, begin int, ok bool) {
	if end == 0 {
		return s, 0, false
	}
	switch c := text[end-1]; {
	case c == '/':
		begin = end - 1 - backslashesBefore(text, end-1)
		return spelling{asIs, 0, string(text[begin:end])}, begin, true
	case c == ';':
		begin = max(end-maxEntity, 0)
		at := bytes.LastIndexByte(text[begin:end], '&')
		if at < 0 {
			return s, 0, false
		}
		begin += at
		r, n := entityAt(text[begin:end])
		return spelling{entity, 0, string(text[begin:end])}, begin, r == '/' && begin+n == end
	case lower(c) == 'f' && end >= 3 && text[end-2] == '2':
		return percentSlashBefore(text, end)
	}
	return s, 0, false
}

// percentSlashBefore is slashBefore for a slash that ends with 2F.
func percentSlashBefore(text []byte, end int) (s spelling, begin int, ok bool) {
	begin = end - 2
	if n := len(`u00`); begin >= n && string(text[begin-n:begin]) == `u00` {
		begin -= n
		k := backslashesBefore(text, begin)
		begin -= k
		return spelling{unicodeEscape, 0, string(text[begin:end])}, begin, k > 0
	}
	depth := 1
	for begin >= 2 && depth < maxPercent && string(text[begin-2:begin]) == "25" {
		begin -= 2
		depth++
	}
	if begin == 0 || text[begin-1] != '%' {
		return s, 0, false
	}
	begin--
	return spelling{percent, depth, string(text[begin:end])}, begin, true
}

func backslashesBefore(text []byte, end int) (n int) {
	for n < min(end, maxBackslashes) && text[end-1-n] == '\\' {
		n++
	}
	return n
}

// colonBefore returns the offset of the colon that ends at an offset, or -1.
func (s spelling) colonBefore(text []byte, end int) int {
	switch s.kind {
	case unicodeEscape:
		if begin := end - len(`u003a`); begin > 0 && text[begin-1] == '\\' && strings.EqualFold(string(text[begin:end]), `u003a`) {
			return begin - backslashesBefore(text, begin)
		}
	case percent:
		colon := "%" + strings.Repeat("25", s.depth-1) + "3A"
		if begin := end - len(colon); begin >= 0 && strings.EqualFold(string(text[begin:end]), colon) {
			return begin
		}
		return -1
	case entity:
		begin := max(end-maxEntity, 0)
		if at := bytes.LastIndexByte(text[begin:end], '&'); at >= 0 && end > 0 && text[end-1] == ';' {
			if r, n := entityAt(text[begin+at : end]); r == ':' && begin+at+n == end {
				return begin + at
			}
		}
	}
	if end > 0 && text[end-1] == ':' {
		return end - 1 - backslashesBefore(text, end-1)
	}
	return -1
}

// charBefore returns the character that ends at an offset, or 0 at the beginning of a text.
func (s spelling) charBefore(text []byte, end int) char {
	if end == 0 {
		return char{raw: true}
	}
	if n := len(`\u0022`); end >= n && text[end-n] == '\\' && text[end-n+1] == 'u' {
		if r, ok := hexAt(text[end-n+2:]); ok {
			return char{r: r}
		}
	}
	if begin := end - 1 - 2*s.depth; s.kind == percent && begin >= 0 && text[begin] == '%' {
		if b, n := percentAt(text[begin:], s.depth); n == end-begin {
			return char{r: rune(b)}
		}
	}
	c, escaped := text[end-1], backslashesBefore(text, end-1) > 0
	switch {
	case escaped && strings.IndexByte("nrtbfv0Z", c) >= 0:
		return char{r: ' '}
	case c == ';':
		begin := max(end-maxEntity, 0)
		if at := bytes.LastIndexByte(text[begin:end], '&'); at >= 0 {
			if r, n := entityAt(text[begin+at : end]); begin+at+n == end {
				return char{r: r}
			}
		}
	}
	return char{r: rune(c), raw: !escaped}
}

// A char is a character in a text, or a byte of invalid UTF-8.
type char struct {
	r    rune // noText for a byte of invalid UTF-8
	b    byte // that byte
	size int  // bytes in the text
	raw  bool // not escaped
}

const noText rune = -1

func (c char) appendTo(b []byte) []byte {
	if c.r == noText {
		return append(b, c.b)
	}
	return utf8.AppendRune(b, c.r)
}

// charAt reads the first character of a URL. The text must not be empty.
func (s spelling) charAt(text []byte) char {
	if s.kind == percent {
		return percentCharAt(text, s.depth)
	}
	if n := len(s.slash); n > 1 && len(text) >= n && strings.EqualFold(string(text[:n]), s.slash) {
		return char{'/', 0, n, false}
	}
	switch text[0] {
	case '\\':
		return escapeAt(text)
	case '&':
		if r, n := entityAt(text); n > 0 {
			return char{r, 0, n, false}
		}
	}
	return rawCharAt(text)
}

func rawCharAt(text []byte) char {
	if c := text[0]; c < utf8.RuneSelf {
		return char{rune(c), 0, 1, true}
	}
	if r, n := utf8.DecodeRune(text); n > 1 {
		return char{r, 0, n, true}
	}
	return char{noText, text[0], 1, true}
}

// escapeAt reads an escape with a backslash: \u00e9 or an escaped mark. All others end a URL, whatever
// they mean. So does an escaped dot, which is part of a regular expression.
func escapeAt(text []byte) char {
	k := 0
	for k < min(len(text), maxBackslashes) && text[k] == '\\' {
		k++
	}
	if k == len(text) {
		return char{'\\', 0, k, false}
	}
	switch c := text[k]; {
	case c == 'u':
		if r, n := unicodeAt(text[k:], k); n > 0 {
			return char{r, 0, k + n, false}
		}
	case strings.IndexByte(`"'()[]{}_*~!,;:&+=@ `, c) >= 0: // also in CSS and Markdown
		return char{rune(c), 0, k + 1, false}
	}
	return char{'\\', 0, k, false}
}

// unicodeAt reads u00e9 after k backslashes, and the second half of a surrogate pair.
func unicodeAt(text []byte, k int) (r rune, size int) {
	high, ok := hexAt(text[1:])
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(high) {
		return high, 5
	}
	if rest := text[5:]; len(rest) > k && backslashesBefore(rest, k) == k && rest[k] == 'u' {
		if low, ok := hexAt(rest[k+1:]); ok {
			if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
				return r, 10 + k
			}
		}
	}
	return utf8.RuneError, 5
}

func hexAt(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, c := range text[:4] {
		if !isHex(c) {
			return 0, false
		}
		r = r<<4 | rune(unhex(c))
	}
	return r, true
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// percentCharAt reads a character of a percent-encoded URL. An unencoded special character ends it.
func percentCharAt(text []byte, depth int) char {
	switch c := text[0]; {
	case c == '%':
		if b, n := percentAt(text, depth); n > 0 {
			return percentRune(text, b, n, depth)
		}
		return char{'\\', 0, 1, false}
	case c == '+':
		return char{' ', 0, 1, false}
	case isUnreserved(c) || strings.IndexByte("!'()*", c) >= 0:
		return char{rune(c), 0, 1, true}
	}
	return char{'\\', 0, 1, false}
}

func percentAt(text []byte, depth int) (b byte, size int) {
	i := 1
	for range depth - 1 {
		if len(text) < i+2 || text[i] != '2' || text[i+1] != '5' {
			return 0, 0
		}
		i += 2
	}
	if len(text) < i+2 || !isHex(text[i]) || !isHex(text[i+1]) {
		return 0, 0
	}
	return unhex(text[i])<<4 | unhex(text[i+1]), i + 2
}

// percentRune reads the remaining bytes of a character after its first byte.
func percentRune(text []byte, b byte, size, depth int) char {
	if b < utf8.RuneSelf {
		return char{rune(b), 0, size, false}
	}
	all := []byte{b}
	for total := size; len(all) < utf8.UTFMax && total < len(text) && text[total] == '%'; {
		b, n := percentAt(text[total:], depth)
		if n == 0 {
			break
		}
		all, total = append(all, b), total+n
		if r, n := utf8.DecodeRune(all); n == len(all) && r != utf8.RuneError {
			return char{r, 0, total, false}
		}
	}
	return char{noText, b, size, false}
}

func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// entities are the character references that occur in URLs or end them.
var entities = [...]struct {
	name string
	r    rune
}{
	{"amp", '&'}, {"quot", '"'}, {"apos", '\''}, {"lt", '<'}, {"gt", '>'}, {"sol", '/'}, {"colon", ':'}, {"nbsp", '\u00a0'},
	{"lpar", '('}, {"rpar", ')'}, {"comma", ','}, {"num", '#'}, {"quest", '?'}, {"equals", '='}, {"Tab", '\t'}, {"NewLine", '\n'},
}

// entityAt reads a character reference of HTML. The size is 0 if there is none.
func entityAt(text []byte) (r rune, size int) {
	end := bytes.IndexByte(text[:min(len(text), maxEntity)], ';')
	if end < 2 || text[0] != '&' {
		return 0, 0
	}
	name := text[1:end]
	if name[0] == '#' {
		if r = numericEntity(name[1:]); r > 0 {
			size = end + 1
		}
		return r, size
	}
	for _, e := range entities {
		if e.name == string(name) {
			return e.r, end + 1
		}
	}
	return 0, 0
}

func numericEntity(digits []byte) (r rune) {
	base := rune(10)
	if len(digits) > 0 && lower(digits[0]) == 'x' {
		base, digits = 16, digits[1:]
	}
	for _, c := range digits {
		if !isHex(c) || base == 10 && c > '9' {
			return 0
		}
		if r = r*base + rune(unhex(c)); r > utf8.MaxRune {
			return 0
		}
	}
	return r
}

// appendURL writes a URL in a spelling. The URL must be clean.
func (s spelling) appendURL(b []byte, url string, withEntities bool) []byte {
	withEntities = (withEntities || s.kind == entity) && strings.Contains(url, "&")
	if s.slash == "/" && !withEntities {
		return append(b, url...)
	}
	for i := range len(url) {
		switch c := url[i]; {
		case s.kind == percent && !isUnreserved(c):
			b = s.appendPercent(b, c)
		case c == '/':
			b = append(b, s.slash...)
		case c == '&' && withEntities:
			b = append(b, "&amp;"...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// appendPercent encodes a byte with digits of the same case as the slash.
func (s spelling) appendPercent(b []byte, c byte) []byte {
	digits := upperHex
	if strings.HasSuffix(s.slash, "f") {
		digits = "0123456789abcdef"
	}
	b = append(b, '%')
	for range s.depth - 1 {
		b = append(b, "25"...)
	}
	return append(b, digits[c>>4], digits[c&15])
}
