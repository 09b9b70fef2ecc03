package oldurl

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A spelled is an address in its parts, decoded: that no two spellings of an address
// differ, but for the form of Unicode.
type spelled struct {
	host     string // lower case; empty for a path alone
	path     string // decoded
	query    string // as it is
	hasQuery bool
	fragment string // with its #
	exact    bool   // no other form of Unicode counts
}

// spell reads an address as it stands in a page: of any scheme of the web or without one,
// encoded or not. Without a host it is a path that begins with a slash.
func spell(address string) (s spelled, ok bool) {
	if i := strings.IndexByte(address, '#'); i >= 0 {
		address, s.fragment = address[:i], address[i:]
	}
	address, s.query, s.hasQuery = strings.Cut(address, "?")
	rest := address
	for _, scheme := range [...]string{"https:", "http:"} {
		if len(address) > len(scheme) && strings.EqualFold(address[:len(scheme)], scheme) {
			rest = address[len(scheme):]
			break
		}
	}
	if after, absolute := strings.CutPrefix(rest, "//"); absolute {
		i := strings.IndexByte(after, '/')
		if i <= 0 {
			return s, false
		}
		host := after[:i]
		s.host, rest = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:]), after[i:]
	} else if rest != address { // http:path
		return s, false
	}
	if !strings.HasPrefix(rest, "/") {
		return s, false
	}
	s.path = decode(rest)
	return s, true
}

// decode decodes what is encoded, and leaves percent signs that stand alone.
func decode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if isEncoded(s[i:]) {
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			b = append(b, byte(n))
			i += 2
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// decodeValue is decode for a value in a query, in which a plus sign is a blank.
func decodeValue(s string) string { return decode(strings.ReplaceAll(s, "+", " ")) }

// Comparable gives an address in a form that is the same however it is spelled; empty if
// it is no address of the web with a path, nor a path that begins with a slash.
func Comparable(address string) string {
	if s, ok := spell(address); ok {
		return s.comparable()
	}
	return ""
}

func (s spelled) comparable() string {
	text := escapePath(norm.NFC.String(s.path))
	if s.host != "" {
		text = "//" + s.host + text
	}
	if s.hasQuery {
		text += "?" + Clean(s.query)
	}
	return text
}

// A match is a key that an address may have been built from.
type match struct {
	key   string
	width int
}

// maxMatches is how many keys an address is taken for at most.
const maxMatches = 16

// maxTries bounds what is tried to read an address: those of objects take a few.
const maxTries = 10_000

// matches gives the keys that an address may have been built from, with the width that it
// has then: those in which the first parts are longest come first. In most templates that
// is one.
func (t *Template) matches(s spelled) []match {
	if s.host != t.host || s.hasQuery != t.hasQuery {
		return nil
	}
	r := reading{template: t, query: s.query}
	for _, path := range s.forms(s.path) {
		r.path(t.path, path, found{})
	}
	return r.all
}

// forms gives a text in the forms of Unicode that count.
func (s spelled) forms(text string) []string {
	if s.exact {
		return []string{text}
	}
	return forms(text)
}

// forms gives a text as it is, and in the forms of Unicode that name files.
func forms(s string) []string {
	if norm.NFC.QuickSpanString(s) == len(s) && norm.NFD.QuickSpanString(s) == len(s) { // as in all ASCII
		return []string{s}
	}
	all := []string{s}
	for _, form := range [...]string{norm.NFC.String(s), norm.NFD.String(s)} {
		if !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	return all
}

// found is what an address has for placeholders so far.
type found struct {
	keyWords
	known  uint // bits of placeholders
	width  int
	height int
}

// A reading reads an address by a template.
type reading struct {
	template *Template
	query    string
	all      []match
	tried    int
}

func (r *reading) path(parts []part, s string, f found) {
	r.read(parts, s, f, asItIs, func(f found) {
		if r.template.hasQuery {
			r.read(r.template.query, r.query, f, decodeValue, r.end)
		} else {
			r.end(f)
		}
	})
}

// end takes note of what was found, if that is what a key has.
func (r *reading) end(f found) {
	key := f.keyWords.path
	switch {
	case f.has(ofPath):
	case f.has(name):
		key = joined(f.folder, f.name)
	default:
		key = joined(f.folder, f.stem+"."+f.ext)
	}
	is := wordsOf(key)
	for _, p := range placeholders[:5] {
		if f.has(p) && *is.of(p) != *f.of(p) {
			return
		}
	}
	if m := (match{key, f.width}); isPlain(key) && !slices.Contains(r.all, m) {
		r.all = append(r.all, m)
	}
}

func joined(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// isPlain reports whether a key can stand in a path: web servers resolve the others.
func isPlain(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// read tries all that the first part may stand for, the longest first.
func (r *reading) read(parts []part, s string, f found, decoded func(string) string, end func(found)) {
	if len(r.all) >= maxMatches {
		return
	}
	if len(parts) == 0 {
		if s == "" {
			end(f)
		}
		return
	}
	p, rest := parts[0], parts[1:]
	if p.is == literal {
		if after, ok := strings.CutPrefix(s, p.text); ok {
			r.read(rest, after, f, decoded, end)
		}
		return
	}
	for n := p.most(s); n >= 0; n = p.before(rest, s, n) {
		if r.tried++; r.tried > maxTries {
			return
		}
		if !p.ends(rest, s, n) {
			continue
		}
		with := f
		value, after := s[:n], s[n:]
		if p.is == folderSlash && n > 0 {
			value = s[:n-1]
		}
		if with.take(p.is, decoded(value), r.template) {
			r.read(rest, after, with, decoded, end)
		}
	}
}

// most is how much of a text a placeholder may stand for at most.
func (p part) most(s string) int {
	not := func(r rune) bool { return false }
	switch p.is {
	case name, stem:
		not = func(r rune) bool { return r == '/' }
	case ext:
		not = func(r rune) bool { return r == '/' || r == '.' }
	case width, height:
		not = func(r rune) bool { return r < '0' || r > '9' }
	}
	if n := strings.IndexFunc(s, not); n >= 0 {
		return n
	}
	return len(s)
}

// ends reports whether a placeholder may end after n characters.
func (p part) ends(rest []part, s string, n int) bool {
	switch {
	case p.is == folderSlash:
		return n == 0 || n > 1 && s[n-1] == '/'
	case len(rest) == 0:
		return n == len(s)
	case rest[0].is == literal:
		return strings.HasPrefix(s[n:], rest[0].text)
	}
	return true
}

// before gives the place before n at which a placeholder may end; -1 if there is none.
func (p part) before(rest []part, s string, n int) int {
	switch {
	case n == 0:
		return -1
	case p.is == folderSlash:
		return strings.LastIndexByte(s[:n-1], '/') + 1
	case len(rest) == 0:
		return -1
	case rest[0].is == literal:
		return strings.LastIndex(s[:min(len(s), n-1+len(rest[0].text))], rest[0].text)
	}
	return n - 1
}

func (f *found) has(is placeholder) bool { return f.known&bit(is) != 0 }

func bit(is placeholder) uint {
	if is == folderSlash {
		is = folder
	}
	return 1 << slices.Index(placeholders[:], is)
}

// take takes note of what a placeholder stands for, unless that cannot be.
func (f *found) take(is placeholder, value string, t *Template) bool {
	switch is {
	case width:
		return takeSize(&f.width, value) && (t.widths == nil || slices.Contains(t.widths, f.width))
	case height:
		return takeSize(&f.height, value)
	case name, stem:
		if strings.Contains(value, "/") || value == "" {
			return false
		}
	case ext:
		if strings.ContainsAny(value, "/.") || value == "" {
			return false
		}
	}
	word := f.of(is)
	if f.has(is) && *word != value {
		return false
	}
	*word, f.known = value, f.known|bit(is)
	return true
}

// takeSize reads a number; where there is one already it must be the same.
func takeSize(size *int, value string) bool {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > MaxWidth || value[0] == '0' || value[0] == '+' || *size != 0 && *size != n {
		return false
	}
	*size = n
	return true
}

// Presentable gives an address as it may be shown: a URI, without a fragment and without
// who logs in with it.
func Presentable(address string) string {
	address, _, _ = strings.Cut(address, "#")
	if begin, rest, absolute := strings.Cut(address, "//"); absolute && !strings.Contains(begin, "/") {
		host, path, _ := strings.Cut(rest, "/")
		address = begin + "//" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
	}
	return Clean(address)
}
