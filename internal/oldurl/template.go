package oldurl

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Template builds the old URLs of objects from their keys, and reads the possible keys from a
// URL. Placeholders can be reversed for that; expressions of mapping rules could not.
type Template struct {
	scheme, host string // "" if it begins with a path
	path, query  []part
	hasQuery     bool
	widths       []int // possible widths; nil if any is, or if it has no width
}

// A part of a template is a placeholder or literal text. The text is decoded in paths, but not in
// queries.
type part struct {
	is   placeholder
	text string
}

// A placeholder stands for a part of a key, or for a size.
type placeholder string

const (
	literal placeholder = ""
	ofPath  placeholder = "path"   // the key
	folder  placeholder = "folder" // the key before its last slash; may be empty
	name    placeholder = "name"   // the key after its last slash
	stem    placeholder = "stem"   // the name before its last dot
	ext     placeholder = "ext"    // the name after its last dot
	width   placeholder = "width"
	height  placeholder = "height"

	// folderSlash is a folder with its slash; both are missing without a folder.
	folderSlash placeholder = "folder/"
)

var placeholders = [...]placeholder{ofPath, folder, name, stem, ext, width, height}

// MaxWidth is the largest width or height that a URL can have.
const MaxWidth = 99999

// A TemplateError is a mistake in a template, with its position.
type TemplateError struct {
	At  int // characters before the mistake
	Msg string
}

func (e *TemplateError) Error() string { return e.Msg }

// ParseTemplate parses a template such as "https://cdn.example.com/w_${width}/${path}", with its
// possible widths. Mistakes are a *TemplateError.
func ParseTemplate(text string, widths []int) (*Template, error) {
	t := &Template{widths: widths}
	begin, err := t.parseOrigin(text)
	if err != nil {
		return nil, err
	}
	p := parser{text: text, at: begin}
	if t.path, err = p.parts("?#"); err != nil {
		return nil, err
	}
	if p.next() == '?' {
		t.hasQuery = true
		p.at++
		if t.query, err = p.parts("#"); err != nil {
			return nil, err
		}
	}
	if p.next() == '#' {
		return nil, p.wrong("a fragment (#) is not allowed")
	}
	if err := t.decodePath(); err != nil {
		return nil, err
	}
	return t, t.check()
}

// parseOrigin reads the scheme and the host, and returns the offset of the path.
func (t *Template) parseOrigin(text string) (begin int, err error) {
	scheme, rest, absolute := strings.Cut(text, "://")
	if !absolute || scheme != "http" && scheme != "https" {
		if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
			return 0, &TemplateError{0, "it must begin with https://, http:// or /"}
		}
		return 0, nil
	}
	begin = len(scheme) + len("://")
	host, _, isPath := strings.Cut(rest, "/")
	at := begin + max(strings.Index(host, "${"), 0)
	switch {
	case host == "" || strings.ContainsAny(host, "?#"):
		return 0, &TemplateError{begin, "a host and a path are missing"}
	case strings.Contains(host, "${"):
		return 0, &TemplateError{utf8.RuneCountInString(text[:at]), "a placeholder is allowed only in the path or the query"}
	case !isPath:
		return 0, &TemplateError{begin, "the path is missing"}
	case strings.Contains(host, "@"):
		return 0, &TemplateError{begin, "a user name or password is not allowed"}
	}
	if u, err := url.Parse(scheme + "://" + host); err != nil || u.Host != host || host != Clean(host) {
		return 0, &TemplateError{begin, "the host must be in ASCII form, such as cdn.example.com or xn--exmple-cua.com"}
	}
	t.scheme, t.host = scheme, strings.ToLower(host)
	return begin + len(host), nil
}

// A parser parses a template.
type parser struct {
	text string
	at   int
}

func (p *parser) next() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) wrong(format string, args ...any) error {
	return &TemplateError{utf8.RuneCountInString(p.text[:p.at]), fmt.Sprintf(format, args...)}
}

// parts parses literal text and placeholders up to one of the ends.
func (p *parser) parts(ends string) (all []part, err error) {
	begin := p.at
	take := func() {
		if begin < p.at {
			all = append(all, part{literal, p.text[begin:p.at]})
		}
	}
	for p.at < len(p.text) && strings.IndexByte(ends, p.text[p.at]) < 0 {
		if !strings.HasPrefix(p.text[p.at:], "${") {
			if c := p.text[p.at]; c < 0x20 || c == 0x7f {
				return nil, p.wrong("a control character is not allowed")
			}
			p.at++
			continue
		}
		take()
		is, err := p.placeholder()
		if err != nil {
			return nil, err
		}
		all, begin = append(all, part{is: is}), p.at
	}
	take()
	return all, nil
}

func (p *parser) placeholder() (placeholder, error) {
	word, _, ended := strings.Cut(p.text[p.at+len("${"):], "}")
	if !ended {
		return literal, p.wrong(`the "}" of a placeholder is missing`)
	}
	is := placeholder(strings.TrimSpace(word))
	if !slices.Contains(placeholders[:], is) {
		return literal, p.wrong("unknown placeholder ${%s}: use ${path}, ${folder}, ${name}, ${stem}, ${ext}, ${width} or ${height}; expressions are not supported", word)
	}
	p.at += len("${") + len(word) + len("}")
	return is, nil
}

// decodePath decodes the literal parts of the path, and joins each folder with its slash.
func (t *Template) decodePath() error {
	for n := range t.path {
		p := &t.path[n]
		if p.is == literal {
			text, err := url.PathUnescape(p.text)
			if err != nil || !utf8.ValidString(text) {
				return &TemplateError{0, fmt.Sprintf("%q is not valid in a URL: write a percent sign as %%25", p.text)}
			}
			p.text = text
		}
	}
	for n := range t.path {
		if t.path[n].is != folder {
			continue
		}
		if n+1 == len(t.path) || !strings.HasPrefix(t.path[n+1].text, "/") {
			return &TemplateError{0, "${folder} needs a slash after it"}
		}
		t.path[n].is, t.path[n+1].text = folderSlash, t.path[n+1].text[1:]
	}
	t.path = slices.DeleteFunc(t.path, func(p part) bool { return p.is == literal && p.text == "" })
	return nil
}

// check returns an error for a template whose URLs cannot be read.
func (t *Template) check() error {
	var b strings.Builder
	for _, p := range t.path {
		if b.WriteString(p.text); p.is != literal {
			b.WriteByte('x')
		}
	}
	for part := range strings.SplitSeq(b.String(), "/") {
		if part == "." || part == ".." {
			return &TemplateError{0, `a "." or ".." segment is not allowed, because web servers resolve it`}
		}
	}
	if t.query != nil && t.queryText() != Clean(t.queryText()) {
		return &TemplateError{0, "the query has characters that must be encoded, such as a space as %20"}
	}
	if err := t.checkKey(); err != nil {
		return err
	}
	return t.checkSizes()
}

// checkKey returns an error for a template whose placeholders do not identify an object.
func (t *Template) checkKey() error {
	switch {
	case t.has(ofPath), t.hasFolder() && (t.has(name) || t.has(stem) && t.has(ext)):
		return nil
	case !t.hasFolder() && (t.has(name) || t.has(stem)):
		return &TemplateError{0, "the folder is missing: add ${folder}/ before the name"}
	case t.has(stem):
		return &TemplateError{0, "the extension is missing: add ${ext}"}
	}
	return &TemplateError{0, "it does not identify an object: use ${path}, or ${folder} and ${name}, or ${folder}, ${stem} and ${ext}"}
}

func (t *Template) checkSizes() error {
	switch {
	case t.has(height) && !t.has(width):
		return &TemplateError{0, "${height} needs ${width}"}
	case len(t.widths) > 0 && !t.has(width):
		return &TemplateError{0, "widths need ${width}"}
	}
	for _, w := range t.widths {
		if w < 1 || w > MaxWidth {
			return &TemplateError{0, fmt.Sprintf("width %d is not between 1 and %d", w, MaxWidth)}
		}
	}
	return nil
}

func (t *Template) queryText() string {
	var b strings.Builder
	for _, p := range t.query {
		b.WriteString(p.text)
	}
	return b.String()
}

func (t *Template) has(is placeholder) bool {
	for _, parts := range [...][]part{t.path, t.query} {
		if slices.ContainsFunc(parts, func(p part) bool { return p.is == is }) {
			return true
		}
	}
	return false
}

// placeholders returns the number of placeholders.
func (t *Template) placeholders() (n int) {
	for _, p := range slices.Concat(t.path, t.query) {
		if p.is != literal {
			n++
		}
	}
	return n
}

func (t *Template) hasFolder() bool { return t.has(folder) || t.has(folderSlash) }

// HasSizes reports whether the URLs are those of image sizes.
func (t *Template) HasSizes() bool { return t.has(width) }

// CanList reports whether all URLs of an object can be listed, and not only recognized.
func (t *Template) CanList() bool { return !t.has(width) || len(t.widths) > 0 && !t.has(height) }

// String returns the template as written in the configuration.
func (t *Template) String() string {
	var b strings.Builder
	if t.host != "" {
		b.WriteString(t.scheme + "://" + t.host)
	}
	show(&b, t.path, escapePath)
	if t.hasQuery {
		b.WriteByte('?')
		show(&b, t.query, asItIs)
	}
	return b.String()
}

func show(b *strings.Builder, parts []part, encode func(string) string) {
	for _, p := range parts {
		switch p.is {
		case literal:
			b.WriteString(encode(p.text))
		case folderSlash:
			b.WriteString("${folder}/")
		default:
			b.WriteString("${" + string(p.is) + "}")
		}
	}
}

// A keyWords has the value of each placeholder for a key.
type keyWords struct{ path, folder, name, stem, ext string }

func wordsOf(key string) keyWords {
	w := keyWords{path: key, name: key}
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		w.folder, w.name = key[:i], key[i+1:]
	}
	w.stem = w.name
	if i := strings.LastIndexByte(w.name, '.'); i >= 0 {
		w.stem, w.ext = w.name[:i], w.name[i+1:]
	}
	return w
}

func (w *keyWords) of(is placeholder) *string {
	switch is {
	case folder, folderSlash:
		return &w.folder
	case name:
		return &w.name
	case stem:
		return &w.stem
	case ext:
		return &w.ext
	}
	return &w.path
}

// URL returns the old URL of an object, at a width if the template has one. It returns false
// if the template needs an extension and a stem and the key lacks one, or if it has a height,
// because heights are unknown.
func (t *Template) URL(key string, atWidth int) (string, bool) {
	if t.has(height) {
		return "", false
	}
	return t.url(key, atWidth, 0)
}

func (t *Template) url(key string, atWidth, atHeight int) (string, bool) {
	w := wordsOf(key)
	if (t.has(ext) || t.has(stem)) && (w.ext == "" || w.stem == "") {
		return "", false
	}
	b := builder{words: w, width: atWidth, height: atHeight}
	b.Grow(len(t.scheme) + len(t.host) + len(key) + 32)
	if t.host != "" {
		b.WriteString(t.scheme + "://" + t.host)
	}
	b.build(t.path, escapePath, escapePath)
	if t.hasQuery {
		b.WriteByte('?')
		b.build(t.query, asItIs, escapeQuery)
	}
	return b.String(), true
}

// A builder builds a URL from parts.
type builder struct {
	strings.Builder
	words         keyWords
	width, height int
}

func (b *builder) build(parts []part, literally, encoded func(string) string) {
	for _, p := range parts {
		switch p.is {
		case literal:
			b.WriteString(literally(p.text))
		case width:
			b.WriteString(strconv.Itoa(b.width))
		case height:
			b.WriteString(strconv.Itoa(b.height))
		case folderSlash:
			if b.words.folder != "" {
				b.WriteString(encoded(b.words.folder) + "/")
			}
		default:
			b.WriteString(encoded(*b.words.of(p.is)))
		}
	}
}

func asItIs(s string) string { return s }

// escapeQuery encodes a text as a single value of a query.
func escapeQuery(s string) string {
	return encode(s, func(i int) bool { return isUnreserved(s[i]) || s[i] == '/' })
}

// Beginning returns the common beginning of all URLs of a template, up to a slash: "//host/folder/"
// for any scheme, or "/folder/". It ends before the first character that may be encoded.
func (t *Template) Beginning() string {
	begin := t.path[0].text
	for i := range len(begin) {
		if begin[i] != '/' && !isUnreserved(begin[i]) {
			begin = begin[:i]
			break
		}
	}
	begin = begin[:strings.LastIndexByte(begin, '/')+1]
	if t.host == "" {
		return begin
	}
	return "//" + t.host + begin
}
