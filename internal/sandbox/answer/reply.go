package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"assetferry/internal/pattern"
)

// mostAlt is the maximum of characters in alternative text.
const mostAlt = 125

var (
	wantsJSON = pattern.Lazy(`\bJSON\b`)
	wantsAlt  = pattern.Lazy(`(?i)\balt\b|\balternative texts?\b|\balternative descriptions?\b`)
	wantsSum  = pattern.Lazy(`(?i)\bsummar|\bkey points\b|\btl;?dr\b`)
)

// Reply answers a message of a conversation. With contains the attachments of this and earlier
// messages; history contains the earlier messages and replies, oldest first.
//
// A prompt for JSON gets one object and no other text. The keys are those in the prompt, or in
// the latest earlier prompt that has some, so "answer with the JSON object" also works. The
// language is that of the prompt, or else of the style.
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
		text += ". The attachments are " + subject.list()
	}
	return s.text(in.say(marked(text)))
}

// language returns the language of a prompt, or of the latest earlier prompt that has one.
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

// A subject is what a prompt is about: the first image, or else the first text.
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

// about describes the subject.
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

// list describes all attachments.
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

// alt returns alternative text.
func (s subject) alt() string { return s.style.text(s.in.alt(s.about())) }

// alt returns alternative text in a language.
func (t tongue) alt(about string) string {
	return t.say(brief(about, mostAlt-len(t.say(" "))+1)) // without the language mark
}

// brief returns a marked sentence of at most that many characters.
func brief(about string, most int) string { return marked(short(about, most-len(marked(".")))) }

// description returns a longer text than alt.
func (s subject) description() string {
	about := s.about()
	if name := words(s.of.Name); name != "" {
		about += ", in a file called “" + short(name, 60) + "”"
	}
	return s.style.text(s.in.say(marked(about)))
}

// title returns a short text.
func (s subject) title() string {
	if name := words(s.of.Name); name != "" {
		return s.in.say(short(name, 60) + " (" + strings.ToLower(Mark[:1]) + Mark[1:] + ")")
	}
	return s.in.say(brief(s.about(), 80))
}

// tags returns the kind and colours of the subject.
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

var decorativeName = pattern.Lazy(`(?i)\b(?:spacer|divider|decorative|decoration|ornament)s?\b`)

// decorative reports whether an image is fully transparent or its name suggests decoration.
func (s subject) decorative() bool {
	return s.picture && (s.view.clear || decorativeName().MatchString(words(s.of.Name)))
}

// object returns a JSON object with the keys in order.
func (s subject) object(keys []key) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		_ = e.Encode(k.name) // these types can always be encoded
		b.WriteByte(':')
		_ = e.Encode(s.value(k))
	}
	b.WriteByte('}')
	return strings.ReplaceAll(b.String(), "\n", "") // the encoder adds line breaks; those in strings are escaped
}

// value returns the value for a key, by its name or its description in the prompt.
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

// unnamed returns the value for a key with an unknown name.
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

// fold maps altText, alt_text and alt-text to the same key.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}
