package answer

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"assetferry/internal/pattern"
)

// A Style is a house style: the rules for all texts from the prompts and files of contexts. The
// zero Style has no rules.
//
// Only fixed phrases are recognized: "at most 60 characters", "begin with “Photo: ”", "end with
// “.”", and a language such as "in German". The first phrase of each kind applies, for lengths
// the smallest. Texts are never too short for [Mark].
type Style struct {
	begin, end string
	most       int    // characters; 0: no limit
	in         tongue // "": no language
}

var (
	mostCharacters = pattern.Lazy(`(?i)\b(?:at most|(?:no|not) more than|a maximum of|maximum|up to|within)\s+(\d{1,5})\s+characters\b`)
	beginsWith     = pattern.Lazy(`(?i)\b(?:begin|start)s?\b[^."“\n]{0,60}["“]([^"”\n]{1,60})["”]`)
	endsWith       = pattern.Lazy(`(?i)\bends?\b[^."“\n]{0,60}["“]([^"”\n]{1,60})["”]`)
	negated        = pattern.Lazy(`(?i)\b(?:not|never|n't|n’t)\s+$`)
)

// StyleOf parses the house style in the texts of contexts.
func StyleOf(texts []string) Style {
	var s Style
	for _, text := range texts {
		for _, m := range mostCharacters().FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(m[1]); err == nil && n > 0 && (s.most == 0 || n < s.most) {
				s.most = n
			}
		}
		if s.begin == "" {
			s.begin = quotedAfter(beginsWith(), text)
		}
		if s.end == "" {
			s.end = quotedAfter(endsWith(), text)
		}
		if t, ok := asked(text); ok && s.in == "" {
			s.in = t
		}
	}
	if s.begin != "" && !strings.HasSuffix(s.begin, " ") {
		s.begin += " "
	}
	return s
}

// quotedAfter returns the quoted text after a phrase, unless the phrase is negated.
func quotedAfter(phrase *regexp.Regexp, text string) string {
	for _, m := range phrase.FindAllStringSubmatchIndex(text, -1) {
		if !negated().MatchString(text[:m[0]]) {
			return text[m[2]:m[3]]
		}
	}
	return ""
}

// text applies the house style to text. An empty text stays empty, because it is the
// alternative text of decoration.
func (s Style) text(text string) string {
	if text == "" {
		return ""
	}
	language := said().FindString(text)
	body := strings.TrimSuffix(strings.TrimPrefix(text[len(language):], s.begin), s.end)
	if s.most > 0 {
		room := s.most - utf8.RuneCountInString(language+s.begin+s.end)
		if at := strings.Index(body, Mark); at >= 0 {
			room = max(room, utf8.RuneCountInString(body[:at]+Mark)+3) // short cuts after a word
		}
		body = short(body, max(1, room))
	}
	return language + s.begin + body + s.end
}

// translated returns content in the language of the house style.
func (s Style) translated(content string) string {
	if s.in == "" {
		return content
	}
	return s.in.translate(content)
}

// dressed applies the house style to each block of content. If a block contains tags, only its
// beginning and end are changed.
func (s Style) dressed(content string) string {
	markup := isMarkup(content)
	return edit(content, func(p piece) string {
		body := strings.TrimSpace(p.raw)
		at := strings.Index(p.raw, body)
		plain := body
		if markup {
			plain = html.UnescapeString(body)
		}
		styled := s.part(p).text(plain)
		if styled == plain {
			return p.raw
		}
		if markup {
			styled = html.EscapeString(styled)
		}
		return p.raw[:at] + styled + p.raw[at+len(body):]
	})
}

// part returns the style for a part of a block.
func (s Style) part(p piece) Style {
	if !p.first {
		s.begin = ""
	}
	if !p.last {
		s.end = ""
	}
	if !p.first || !p.last {
		s.most = 0
	}
	return s
}

// styled combines a rule with the house style.
func (s Style) styled(r rule, isTranslation bool) rule {
	return rule{whole: func(content string) string {
		content = r.apply(content)
		if !isTranslation {
			content = s.translated(content)
		}
		return s.dressed(content)
	}}
}
