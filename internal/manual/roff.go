package manual

import (
	"fmt"
	"strings"
)

// A page is a manual page that is being written, in standard macros.
type page struct{ strings.Builder }

// macro writes a request with its arguments.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + roff(arg) + `"`)
	}
	p.WriteByte('\n')
}

func (p *page) heading(text string) { p.macro("SH", text) }

// text writes lines that may be filled.
func (p *page) text(lines string) {
	for line := range strings.Lines(lines) {
		p.WriteString(roffLine(strings.TrimSpace(line)) + "\n")
	}
}

// paragraphs writes the text of a help page. Indented paragraphs keep their layout.
func (p *page) paragraphs(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		if strings.Contains("\n"+paragraph, "\n ") {
			p.verbatim(paragraph)
		} else {
			p.text(paragraph)
		}
	}
}

// verbatim keeps the layout, without indentation so that it fits into 80 columns.
func (p *page) verbatim(text string) {
	p.WriteString(".in 0\n.nf\n")
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		p.WriteString(roffLine(strings.TrimRight(line, "\n")) + "\n")
	}
	p.WriteString(".fi\n.in\n")
}

func (p *page) items(list []Item) {
	for _, i := range list {
		p.item(i)
	}
}

func (p *page) item(i Item) {
	p.WriteString(".TP\n\\fB" + roff(i.Name) + "\\fR")
	if i.Kind != "" {
		p.WriteString(" \\fI" + roff(i.Kind) + "\\fR")
	}
	p.WriteByte('\n')
	p.text(i.Meaning)
}

// roffLine escapes a line of text, which must not look like a request.
func roffLine(line string) string {
	text := roff(line)
	if text == "" || text[0] == '.' {
		return `\&` + text
	}
	return text
}

// roff escapes text so that it is shown unchanged, with plain characters in place of typographic
// ones.
func roff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\n', r == '\t':
			b.WriteByte(' ')
		case r < ' ' || r == 0x7f:
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
