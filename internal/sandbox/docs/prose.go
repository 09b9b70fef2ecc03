package docs

import (
	"html/template"
	"regexp"
	"strings"
)

// prose renders the Markdown used in descriptions: paragraphs, `code`, **strong** and
// *emphasis*.
func prose(text string) template.HTML {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if paragraph != "" {
			b.WriteString("<p>" + inline(paragraph) + "</p>\n")
		}
	}
	return template.HTML(b.String())
}

// inline renders marks in text. Every other piece between backquotes is code.
func inline(text string) string {
	strong, emphasis := regexp.MustCompile(`\*\*([^*]+)\*\*`), regexp.MustCompile(`\*([^*]+)\*`)
	pieces := strings.Split(template.HTMLEscapeString(text), "`")
	if len(pieces)%2 == 0 {
		return template.HTMLEscapeString(text) // unpaired backquote
	}
	for i, piece := range pieces {
		if i%2 == 1 {
			pieces[i] = "<code>" + piece + "</code>"
			continue
		}
		pieces[i] = emphasis.ReplaceAllString(strong.ReplaceAllString(piece, "<strong>$1</strong>"), "<em>$1</em>")
	}
	return strings.Join(pieces, "")
}
