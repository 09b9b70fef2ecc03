package rewrite

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A serialized string is written by PHP with its length before it: s:5:"hello"; or C:3:"Map":5:{hello}
// for an object with its own serialization. The length counts the bytes in PHP, not their escapes in
// the text: \" in SQL, &quot; in HTML, %22 in a query. In a string with S, \e9 is one byte.
type serialized struct {
	digits, digitsEnd int // offsets of the length in the text
	length            int
	content           int    // where it begins
	quote             []byte // must follow the content
	closing           string // must follow the quote
	forms             []form // possible forms of the content
}

// maxDigits is the maximum number of digits of a length.
const maxDigits = 10

// maxHeader is the maximum size in bytes of the header of a serialized string.
const maxHeader = 512

// headerAt parses the header of a serialized string.
func headerAt(text []byte, begin int) (s serialized, ok bool) {
	p := headerReader{text: text[:min(len(text), begin+maxHeader)], at: begin + 1}
	colon := ":"
	if text[begin+1] == '%' {
		colon = "%3A"
	}
	switch text[begin] {
	case 's', 'S':
		p.skip(colon)
		s.digits, s.length, s.digitsEnd = p.number()
		p.skip(colon)
		s.quote = p.quote()
		s.content, s.forms, s.closing = p.at, formsIn(string(s.quote), text[begin] == 'S'), ";"
		if colon != ":" {
			s.closing = "%3B"
		}
	case 'C':
		p.skip(":")
		_, length, _ := p.number()
		p.skip(":")
		quote := p.quote()
		p.at += length
		p.skip(string(quote))
		p.skip(":")
		s.digits, s.length, s.digitsEnd = p.number()
		p.skip(":{")
		s.content, s.forms, s.closing = p.at, formsIn(string(quote), false), "}"
	default:
		return s, false
	}
	return s, !p.bad
}

// A headerReader reads a text as long as it has the expected syntax.
type headerReader struct {
	text []byte
	at   int
	bad  bool
}

func (p *headerReader) rest() []byte {
	if p.bad || p.at > len(p.text) {
		p.bad = true
		return nil
	}
	return p.text[p.at:]
}

func (p *headerReader) skip(what string) {
	if rest := p.rest(); len(rest) >= len(what) && strings.EqualFold(string(rest[:len(what)]), what) {
		p.at += len(what)
	} else {
		p.bad = true
	}
}

func (p *headerReader) number() (begin, n, end int) {
	begin = p.at
	rest := p.rest()
	digits := 0
	for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(string(rest[:digits]))
	p.bad = p.bad || err != nil || digits > maxDigits
	p.at += digits
	return begin, n, p.at
}

// quote reads a quotation mark in any spelling.
func (p *headerReader) quote() []byte {
	rest := p.rest()
	k := 0
	for k < min(len(rest), maxBackslashes) && rest[k] == '\\' {
		k++
	}
	n := 0
	switch tail := rest[k:]; {
	case len(tail) > 0 && tail[0] == '"':
		n = k + 1
	case k == 0 && bytes.HasPrefix(tail, []byte("%22")):
		n = len("%22")
	case k == 0:
		if r, size := entityAt(tail); r == '"' {
			n = size
		}
	}
	p.bad = p.bad || n == 0
	p.at += n
	return rest[:n]
}

// A form is the escaping of bytes in a text: a number of times with backslashes, with character
// references, or percent-encoded.
type form struct {
	escaped int
	unicode bool // with \u00e9, too
	hex     bool // with \e9, too
	doubled bool // with doubled apostrophes, as in SQL
	entity  bool
	percent bool
}

// formsIn returns the possible forms of a content, by the spelling of its quotation marks. The most
// likely come first.
func formsIn(quote string, hex bool) []form {
	switch {
	case quote == "": // there is none
		return nil
	case strings.HasPrefix(quote, "%"):
		return percentForms
	case strings.HasPrefix(quote, "&"):
		return entityForms
	}
	n := bits.Len(uint(len(quote) - 1)) // each escaping turns n backslashes into 2n+1
	if hex {
		return hexForms[n]
	}
	return backslashForms[n]
}

var (
	percentForms   = []form{{percent: true}}
	entityForms    = []form{{entity: true}}
	backslashForms = formsByEscapes(false)
	hexForms       = formsByEscapes(true)
)

// formsByEscapes returns the forms by how often the quotation marks are escaped.
func formsByEscapes(hex bool) (all [6][]form) {
	for n := range all {
		for _, escaped := range [...]int{n, n + 1} {
			all[n] = append(all[n], form{escaped: escaped, hex: hex}, form{escaped: escaped, doubled: true, hex: hex})
		}
		if n > 0 {
			all[n] = append(all[n], form{escaped: n, unicode: true}, form{escaped: n + 1, unicode: true})
		}
	}
	return all
}

// escapes has the bytes that can begin an escape in some form. All others are a unit of their own.
var escapes = newByteSet(`\'&%`)

// unit returns the size of the first unit of a text in bytes, and its length in bytes of PHP. The text
// must not be empty.
func (f form) unit(text []byte) (size, length int) {
	switch c := text[0]; {
	case c == '\\' && (f.escaped > 0 || f.hex):
		return f.escape(text)
	case c == '\'' && f.doubled && len(text) > 1 && text[1] == '\'':
		return 2, 1
	case c == '&' && f.entity:
		if r, n := entityAt(text); n > 0 {
			return n, utf8.RuneLen(r)
		}
	case c == '%' && f.percent:
		if _, n := percentAt(text, 1); n > 0 {
			return n, 1
		}
	}
	return 1, 1
}

func (f form) escape(text []byte) (size, length int) {
	k, whole := 0, 1<<f.escaped // backslashes for one backslash
	for k < min(len(text), whole) && text[k] == '\\' {
		k++
	}
	if k == whole {
		if f.hex && len(text) > k+1 && isHex(text[k]) && isHex(text[k+1]) {
			k += 2
		}
		return k, 1
	}
	if f.unicode && k < len(text) && text[k] == 'u' {
		if r, n := unicodeAt(text[k:], k); n > 0 {
			return k + n, utf8.RuneLen(r)
		}
	}
	return k + 1, 1
}

// maxUnit is the maximum size in bytes of a unit.
const maxUnit = 128

// length returns the length of a text in bytes of PHP.
func (f form) length(text []byte) int {
	w := walk{form: f, left: len(text)} // no form has fewer bytes than PHP
	w.to(text, true)
	return len(text) - w.left
}

// A walk measures the content of a serialized string in one form.
type walk struct {
	form
	at   int // offset in the text
	left int // bytes of PHP up to the end
}

// to advances to the end of the available text, and reports whether the string ends there. The last
// unit may be incomplete, so it waits for more unless the text is complete.
func (w *walk) to(text []byte, all bool) (arrived bool) {
	limit := len(text)
	if !all {
		limit -= maxUnit
	}
	if w.form == (form{}) {
		n := max(min(w.left, limit-w.at), 0)
		w.at, w.left = w.at+n, w.left-n
		return w.left == 0
	}
	for w.left > 0 && w.at < limit {
		if plain := w.plain(text[w.at:min(limit, w.at+w.left)]); plain > 0 {
			w.at, w.left = w.at+plain, w.left-plain
			continue
		}
		size, length := w.unit(text[w.at:])
		w.at, w.left = w.at+size, w.left-length
	}
	return w.left == 0
}

// plain returns the number of bytes before the first escape.
func (w *walk) plain(text []byte) (n int) {
	for n < len(text) && !escapes.has(text[n]) {
		n++
	}
	return n
}

// isAt reports whether the string ends at an offset.
func (s *serialized) isAt(text []byte, at int) bool {
	if at > len(text) || !bytes.HasPrefix(text[at:], s.quote) {
		return false
	}
	rest := text[at+len(s.quote):]
	return len(rest) >= len(s.closing) && string(rest[:len(s.closing)]) == s.closing
}
