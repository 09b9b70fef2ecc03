// Package answer generates the answers of the sandbox of the AI content service.
//
// It uses no model. Answers depend only on the request: the pixels of an image, the text of a
// document, the keys in a prompt. The same request always has the same answer. Invented text
// contains [Mark], so that it is not mistaken for the work of a person or a model. Corrections
// from a small table are real and not marked. Translations are not real: a text "in German" is
// the same text after "[de] ", in HTML at the beginning of each block.
//
// Attachments may be hostile. Nothing panics, decompression is limited, and so are the pixels
// of decoded images.
package answer

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark is in every invented answer.
const Mark = "Made up by the sandbox"

// An Attachment is a file for a prompt.
type Attachment struct {
	Name string // file name or ""
	Type string // content type, such as "image/png", or ""
	Data []byte
}

// marked returns a marked sentence.
func marked(text string) string { return Mark + ": " + ended(text) }

// ended adds a full stop, unless there is other end punctuation.
func ended(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// short cuts text to a number of characters, if possible after a word.
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

// line returns text with single blanks instead of white space.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// words converts a file name to words: "red_car-2.jpg" becomes "red car 2".
func words(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		return ""
	}
	name = strings.TrimSuffix(name, path.Ext(name))
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// Title returns the title of a conversation: the first words of its prompt, up to 60
// characters. That the service does so is a guess.
func Title(prompt string) string {
	if title := short(line(prompt), 60); title != "" {
		return title
	}
	return "A conversation"
}
