package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// mostAlt is how many characters a text alternative has at most.
const mostAlt = 125

var (
	wantsJSON = pattern(`\bJSON\b`)
	wantsAlt  = pattern(`(?i)\balt\b|\balternative texts?\b|\balternative descriptions?\b`)
	wantsSum  = pattern(`(?i)\bsummar|\bkey points\b|\btl;?dr\b`)
)

// Reply answers a message of a conversation. With is what is attached to it and to the
// messages before it; history is what was said before, replies as well, oldest first.
//
// A prompt that asks for JSON gets one object and nothing around it. Its keys are those
// that the prompt names, or the latest prompt before it that names some: so a prompt
// that only says "answer with the JSON object" has its answer, too. The language is that of the
// style unless the prompt names one.
func (s Style) Reply(prompt string, with []Attachment, history []string) string {
	in, named := asked(prompt)
	switch {
	case named:
	case s.in != "":
		in = s.in
	default:
		in = language(prompt, history)
	}
	subject := newSubject(with, in)
	subject.style = s
	switch {
	case wantsJSON().MatchString(prompt):
		return subject.object(keysOf(prompt, history))
	case wantsAlt().MatchString(prompt) && len(with) > 0:
		return subject.alt()
	case wantsSum().MatchString(prompt):
		return s.text(in.say(marked("in short, " + subject.excerptOr(prompt))))
	}
	text := fmt.Sprintf("this answers “%s”", short(line(prompt), 80))
	if len(with) > 0 {
		text += ". What came with it is " + subject.list()
	}
	return s.text(in.say(marked(text)))
}

// language is the one that a prompt asks for, or else the latest prompt that did.
func language(prompt string, history []string) tongue {
	if t, ok := asked(prompt); ok {
		return t
	}
	for i := len(history) - 1; i >= 0; i-- {
		if t, ok := asked(history[i]); ok {
			return t
		}
	}
	return "en"
}

// A subject is what a prompt is about: the first picture that came with it, or else the
// first text.
type subject struct {
	with    []Attachment
	in      tongue
	of      Attachment
	picture bool
	view    view
	text    string
	style   Style
}

func newSubject(with []Attachment, in tongue) subject {
	s := subject{with: with, in: in}
	for _, a := range with {
		if a.kind() == pictureKind {
			s.of, s.picture, s.view = a, true, look(a.Data)
			return s
		}
	}
	if len(with) > 0 {
		s.of, s.text = with[0], line(TextOf(with[0]))
	}
	return s
}

// about says what the subject is.
func (s subject) about() string {
	switch {
	case s.picture:
		return s.view.String()
	case len(s.with) == 0:
		return "there is nothing to describe"
	}
	return describe(s.of, s.text)
}

func describe(a Attachment, text string) string {
	about := "a " + string(a.kind())
	if a.kind() == pageKind {
		about = "an " + string(pageKind)
	}
	if pages := PDFPages(a.Data); pages > 0 {
		about += fmt.Sprintf(" of %d page%s", pages, map[bool]string{false: "s"}[pages == 1])
	}
	if text == "" {
		return about + " in which no text was found"
	}
	return about + " that begins “" + short(line(text), 60) + "”"
}

// list names all that came with a prompt.
func (s subject) list() string {
	var all []string
	for _, a := range s.with {
		if a.kind() == pictureKind {
			all = append(all, look(a.Data).String())
			continue
		}
		all = append(all, describe(a, TextOf(a)))
	}
	return strings.Join(all, "; ")
}

func (s subject) excerptOr(prompt string) string {
	if s.text != "" {
		return short(s.text, 200)
	}
	if len(s.with) > 0 {
		return s.about()
	}
	return short(line(prompt), 200)
}

// alt is a text alternative.
func (s subject) alt() string { return s.style.text(s.in.alt(s.about())) }

// alt is a text alternative in a language.
func (t tongue) alt(about string) string {
	return t.say(brief(about, mostAlt-len(t.say(" "))+1)) // without what says the language
}

// brief is a marked sentence of at most so many characters.
func brief(about string, most int) string { return marked(short(about, most-len(marked(".")))) }

// description is longer than a text alternative.
func (s subject) description() string {
	about := s.about()
	if name := words(s.of.Name); name != "" {
		about += ", in a file called “" + short(name, 60) + "”"
	}
	return s.style.text(s.in.say(marked(about)))
}

// title is short.
func (s subject) title() string {
	if name := words(s.of.Name); name != "" {
		return s.in.say(short(name, 60) + " (" + strings.ToLower(Mark[:1]) + Mark[1:] + ")")
	}
	return s.in.say(brief(s.about(), 80))
}

// tags are what the subject is and its colours.
func (s subject) tags() []string {
	tags := []string{"made up"}
	switch {
	case s.picture:
		tags = append(append(tags, s.view.shape()), s.view.colours...)
	case len(s.with) > 0:
		tags = append(tags, strings.ToLower(string(s.of.kind())))
	}
	for i, tag := range tags {
		tags[i] = s.in.say(tag)
	}
	return tags
}

var decorativeName = pattern(`(?i)\b(?:spacer|divider|decorative|decoration|ornament)s?\b`)

// decorative reports whether a picture says nothing: all of it is transparent, or its
// name says so.
func (s subject) decorative() bool {
	return s.picture && (s.view.clear || decorativeName().MatchString(words(s.of.Name)))
}

// object is the answer as JSON, with the keys in their order.
func (s subject) object(keys []key) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		_ = e.Encode(k.name) // strings, lists of them, numbers and truth can always be encoded
		b.WriteByte(':')
		_ = e.Encode(s.value(k))
	}
	b.WriteByte('}')
	return strings.ReplaceAll(b.String(), "\n", "") // which the encoder adds; those in strings are escaped
}

// value is what the object says for a key: by its name, or else by what the prompt says
// of it.
func (s subject) value(k key) any {
	size := s.view.size
	switch fold(k.name) {
	case "alt", "alttext", "alternative", "alternativetext":
		if s.decorative() {
			return ""
		}
		return s.alt()
	case "tags", "keywords", "labels", "categories":
		return s.tags()
	case "colors", "colours":
		return append([]string{}, s.view.colours...)
	case "decorative", "isdecorative":
		return s.decorative()
	case "language", "lang", "locale":
		return string(s.in)
	case "title", "name", "headline":
		return s.title()
	case "text", "ocr", "excerpt":
		return s.text
	case "width":
		return size.X
	case "height":
		return size.Y
	case "pages":
		return PDFPages(s.of.Data)
	}
	return s.unnamed(k)
}

// unnamed is for a key whose name says nothing.
func (s subject) unnamed(k key) any {
	switch k.wants {
	case wantsList:
		return s.tags()
	case wantsTruth:
		return false
	case wantsNumber:
		return 0
	}
	return s.description()
}

// fold makes one of altText, alt_text and alt-text.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}
