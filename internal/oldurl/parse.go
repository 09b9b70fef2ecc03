package oldurl

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A spelled is a URL in decoded parts. All spellings of a URL have the same parts, except for the
// form of Unicode.
type spelled struct {
	host     string // lower case; empty for a path alone
	path     string // decoded
	query    string // not decoded
	hasQuery bool
	fragment string // with its #
	exact    bool   // do not try other forms of Unicode
}

// spell parses a URL from a page: with http, https or no scheme, encoded or not. Without a host it
// is a path that begins with a slash.
func spell(url string) (s spelled, ok bool) {
	if i := strings.IndexByte(url, '#'); i >= 0 {
		url, s.fragment = url[:i], url[i:]
	}
	url, s.query, s.hasQuery = strings.Cut(url, "?")
	rest := url
	for _, scheme := range [...]string{"https:", "http:"} {
		if len(url) > len(scheme) && strings.EqualFold(url[:len(scheme)], scheme) {
			rest = url[len(scheme):]
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
	} else if rest != url { // http:path
		return s, false
	}
	if !strings.HasPrefix(rest, "/") {
		return s, false
	}
	s.path = decode(rest)
	return s, true
}

// decode decodes percent-encoded bytes, and keeps other percent signs.
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

// decodeValue is decode for a value in a query, where a plus sign is a space.
func decodeValue(s string) string { return decode(strings.ReplaceAll(s, "+", " ")) }

// Comparable returns a form of a URL that is the same for all its spellings. It is "" for a text
// that is neither a web URL with a path nor a path that begins with a slash.
func Comparable(url string) string {
	if s, ok := spell(url); ok {
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

// A match is a possible key of a URL.
type match struct {
	key   string
	width int
}

// maxMatches is the maximum number of possible keys of a URL.
const maxMatches = 16

// maxTries limits the steps for reading a URL. URLs of objects need a few.
const maxTries = 10_000

// matches returns the possible keys of a URL, with the width for each key. Keys with the longest
// first parts come first. Most templates have one match.
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

// forms returns a text in the forms of Unicode to try.
func (s spelled) forms(text string) []string {
	if s.exact {
		return []string{text}
	}
	return forms(text)
}

// forms returns a text unchanged, and in the forms of Unicode that file names use.
func forms(s string) []string {
	if norm.NFC.QuickSpanString(s) == len(s) && norm.NFD.QuickSpanString(s) == len(s) { // true for ASCII
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

// found has the values of placeholders found so far in a URL.
type found struct {
	keyWords
	known  uint // bits of placeholders
	width  int
	height int
}

// A reading reads a URL by a template.
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

// end records a match if the values form a key.
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

// isPlain reports whether a key has no segments that web servers resolve.
func isPlain(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// read tries all values of the first part, the longest first.
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

// most returns the maximum number of bytes of a text that a placeholder may match.
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

// ends reports whether a placeholder may end after n bytes.
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

// before returns the last offset before n at which a placeholder may end, or -1.
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

// take records the value of a placeholder. It returns false if the value is impossible.
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

// takeSize parses a size, and compares it with an earlier value.
func takeSize(size *int, value string) bool {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > MaxWidth || value[0] == '0' || value[0] == '+' || *size != 0 && *size != n {
		return false
	}
	*size = n
	return true
}

// Presentable returns a URL for display: a URI without a fragment and without credentials.
func Presentable(url string) string {
	url, _, _ = strings.Cut(url, "#")
	if begin, rest, absolute := strings.Cut(url, "//"); absolute && !strings.Contains(begin, "/") {
		host, path, _ := strings.Cut(rest, "/")
		url = begin + "//" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
	}
	return Clean(url)
}
