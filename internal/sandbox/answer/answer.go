// Package answer says what the stand-in of the AI content service answers.
//
// No model is asked. Answers follow from what was sent: the pixels of a picture, the
// text of a document, the keys that a prompt names. The same question has the same answer
// for ever. What is invented begins with or holds [Mark], so that nobody takes it for the
// work of a person or of a model. Corrections are real ones, from a small table, and are
// not marked. Nothing is translated: a text "in German" is the text with "[de] " before
// it, in HTML at the beginning of each block.
//
// Attachments may be hostile. Nothing panics; what is compressed is read up to a limit,
// and pictures are decoded up to a number of pixels.
package answer

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark is in every answer that is invented.
const Mark = "Made up by the sandbox"

// An Attachment is something that a prompt is about.
type Attachment struct {
	Name string // of the file, or empty
	Type string // its content type, such as "image/png", or empty
	Data []byte
}

// marked is a whole sentence that says what it is.
func marked(text string) string { return Mark + ": " + ended(text) }

// ended has a full stop, unless something else ends it.
func ended(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// short cuts a text to a number of characters, after a word where that can be.
func short(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	cut := string([]rune(text)[:max(0, most-1)])
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}

// line is a text with every space being one blank.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// words makes words of the name of a file: "red_car-2.jpg" is "red car 2".
func words(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		return ""
	}
	name = strings.TrimSuffix(name, path.Ext(name))
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// Title is what a conversation is called that begins with a prompt: its first words, at
// most 60 characters. That the service makes titles of prompts is a guess.
func Title(prompt string) string {
	if title := short(line(prompt), 60); title != "" {
		return title
	}
	return "A conversation"
}
