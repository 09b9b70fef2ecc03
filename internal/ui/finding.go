package ui

import (
	"strings"

	"assetferry/internal/event"
)

// verdictTitle is the heading of the findings with a result.
func verdictTitle(result string) string {
	switch result {
	case "blocking":
		return "Blocking"
	case "not_uploaded":
		return "Not uploaded"
	case "warning":
		return "Warnings"
	}
	return "Notes"
}

// fewExamples is how many examples a finding shows without --verbose.
const fewExamples = 2

// Findings lays out the findings about a plan under a heading for each result: message, parts,
// examples, and the flags or people that can change it.
func Findings(all []event.Check, verbose bool) string {
	var b strings.Builder
	verdict := ""
	for _, l := range all {
		if l.Result != verdict {
			if verdict != "" {
				b.WriteString("\n")
			}
			verdict = l.Result
			b.WriteString(verdictTitle(verdict) + "\n")
		}
		b.WriteString(finding(l, verbose))
	}
	return b.String()
}

func finding(l event.Check, verbose bool) string {
	var b strings.Builder
	hang := func(first string, words []string) {
		for _, line := range Fill(words, screenWidth-len(first)) {
			b.WriteString(first + line + "\n")
			first = strings.Repeat(" ", len(first))
		}
	}
	hang("  - ", strings.Fields(Sanitize(l.Message)))
	if parts := partsOf(l); len(parts) > 0 {
		hang("    ", parts)
	}
	for i, example := range l.Examples {
		if i == fewExamples && !verbose {
			break
		}
		for _, line := range Fill(strings.Split(Sanitize(example), " "), screenWidth-6) {
			b.WriteString("      " + Truncate(line, screenWidth-6) + "\n")
		}
	}
	if l.Hint != "" {
		text, commands, _ := strings.Cut(l.Hint, "\n")
		hang("    Options: ", strings.Fields(text))
		writeLines(&b, strings.Repeat(" ", len("    Options: ")), commands)
	}
	return b.String()
}

// partsOf returns the parts of a finding; no part is broken between lines.
func partsOf(l event.Check) []string {
	var parts []string
	for i, f := range l.Facts {
		part := Truncate(Sanitize(f.Name), screenWidth/2) + ": " + f.Value
		if i < len(l.Facts)-1 {
			part += ";"
		}
		parts = append(parts, part)
	}
	return parts
}
