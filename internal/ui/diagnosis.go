package ui

import (
	"fmt"
	"strings"

	"assetferry/internal/event"
)

const (
	verdictWidth = 11 // columns of the longest verdict
	screenWidth  = 80 // columns of a diagnosis, the same on every terminal
)

// CodeText returns a code in words, such as "not checked" for not_checked.
func CodeText(code string) string {
	if rest, ok := strings.CutPrefix(code, "ai_"); ok {
		code = "AI_" + rest
	}
	return strings.ReplaceAll(code, "_", " ")
}

// Diagnosis lays out a check of doctor: the verdict in the first column, then the message, the fix
// and the facts.
func Diagnosis(l event.Check) string {
	var b strings.Builder
	margin := strings.Repeat(" ", verdictWidth+2)
	text := CodeText(l.Check)
	if l.Message != "" {
		text += ": " + l.Message
	}
	text, quoted, _ := strings.Cut(text, "\n") // the lines after it have their layout already
	for i, line := range Wrap(Sanitize(text), screenWidth-len(margin)) {
		if i == 0 {
			fmt.Fprintf(&b, "%-*s  %s\n", verdictWidth, CodeText(l.Result), line)
		} else {
			b.WriteString(margin + line + "\n")
		}
	}
	writeLines(&b, margin, quoted)
	if l.Hint != "" {
		text, commands, _ := strings.Cut(l.Hint, "\n")
		for _, line := range Wrap("Try: "+Sanitize(text), screenWidth-len(margin)) {
			b.WriteString(margin + line + "\n")
		}
		writeLines(&b, margin, commands)
	}
	b.WriteString(facts(l.Facts, margin+"  "))
	return b.String()
}

// writeLines writes lines that have their layout already, such as commands, at a margin.
func writeLines(b *strings.Builder, margin, lines string) {
	for line := range strings.Lines(lines) {
		b.WriteString(margin + Sanitize(strings.TrimSuffix(line, "\n")) + "\n")
	}
}

// Facts lays out names and values at the margin.
func Facts(all []event.Fact) string { return facts(all, "") }

// facts lays out names and values, and where a value was set if that is known.
func facts(all []event.Fact, margin string) string {
	names := 0
	for _, f := range all {
		names = max(names, textWidth(f.Name))
	}
	var b strings.Builder
	for _, f := range all {
		text := Sanitize(f.Value)
		if f.From != "" {
			text += " (" + Sanitize(f.From) + ")"
		}
		name := Sanitize(f.Name) + strings.Repeat(" ", max(0, names-textWidth(f.Name)))
		for _, line := range Wrap(text, screenWidth-len(margin)-names-2) {
			b.WriteString(strings.TrimRight(margin+name+"  "+line, " ") + "\n")
			name = strings.Repeat(" ", names)
		}
	}
	return b.String()
}
