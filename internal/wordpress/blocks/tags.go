package blocks

import (
	"html"
	"strings"
)

// A tag is the beginning of an HTML element.
type tag struct {
	span
	name       string // lower case
	attributes []attribute
}

// An attribute is an attribute of a tag.
type attribute struct {
	span         // with the white space before it
	name  string // lower case
	value span   // without quotes; empty if it has none
	quote byte   // 0 if it has no quotes
}

// value returns the decoded value of an attribute, or "".
func (t tag) value(text, name string) string {
	if a := t.attribute(name); a != nil {
		return html.UnescapeString(a.value.of(text))
	}
	return ""
}

// attribute returns the first attribute with a name, or nil.
func (t tag) attribute(name string) *attribute {
	for n := range t.attributes {
		if t.attributes[n].name == name {
			return &t.attributes[n]
		}
	}
	return nil
}

// tagsOf returns the tags in a part of a text, but not those in comments, scripts and similar.
func tagsOf(text string, s span) (all []tag) {
	scan := scanner{text: text[:s.to], at: s.from}
	for {
		n := strings.IndexByte(scan.text[scan.at:], '<')
		if n < 0 {
			return all
		}
		scan.at += n
		if strings.HasPrefix(scan.text[scan.at:], "<!--") {
			scan.skip("-->")
			continue
		}
		t, ok := scan.tag()
		if !ok {
			continue
		}
		all = append(all, t)
		switch t.name {
		case "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes":
			scan.skip("</" + t.name)
		}
	}
}

// A scanner reads tags.
type scanner struct {
	text string
	at   int
}

// skip continues after the next end, in any case of letters, or at the end of the text.
func (s *scanner) skip(end string) {
	for ; s.at < len(s.text); s.at++ {
		if rest := s.text[s.at:]; len(rest) >= len(end) && strings.EqualFold(rest[:len(end)], end) {
			s.at += len(end)
			return
		}
	}
}

// tag reads the tag at the current offset. It is not ok if none begins there, or if it has no end.
func (s *scanner) tag() (t tag, ok bool) {
	t.from = s.at
	s.at++
	name := s.while(isNameByte)
	if name.from == name.to || !isLetter(s.text[name.from]) {
		return t, false
	}
	t.name = strings.ToLower(name.of(s.text))
	for {
		from := s.at
		s.while(isSpace)
		if s.at == len(s.text) { // browsers drop an unfinished tag, too
			return t, false
		}
		switch s.text[s.at] {
		case '>':
			s.at++
			t.to = s.at
			return t, true
		case '/':
			s.at++
			continue
		case '<': // the former one was not a tag
			return t, false
		}
		t.attributes = append(t.attributes, s.attribute(from))
	}
}

func (s *scanner) attribute(from int) (a attribute) {
	name := s.while(func(c byte) bool { return !isSpace(c) && c != '=' && c != '>' && c != '/' })
	if name.from == name.to { // an equals sign without a name
		s.at++
		name.to = s.at
	}
	a.name = strings.ToLower(name.of(s.text))
	end := s.at
	s.while(isSpace)
	if s.at == len(s.text) || s.text[s.at] != '=' {
		s.at = end
		a.span, a.value = span{from, end}, span{end, end}
		return a
	}
	s.at++
	s.while(isSpace)
	if s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\'') {
		a.quote = s.text[s.at]
		s.at++
		a.value = s.while(func(c byte) bool { return c != a.quote })
		s.at = min(s.at+1, len(s.text))
	} else {
		a.value = s.while(func(c byte) bool { return !isSpace(c) && c != '>' })
	}
	a.span = span{from, s.at}
	return a
}

func (s *scanner) while(is func(byte) bool) span {
	from := s.at
	for s.at < len(s.text) && is(s.text[s.at]) {
		s.at++
	}
	return span{from, s.at}
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isNameByte(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '-' || c == ':' }
