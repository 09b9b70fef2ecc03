package ui

import (
	"strings"

	"assetferry/internal/event"
)

// verdictTitle is the verdict of a finding for people.
func verdictTitle(result string) string {
	switch result {
	case "stop":
		return "Stops the run"
	case "loss":
		return "Will not arrive"
	case "warning":
		return "Look at it"
	}
	return "Good to know"
}

// fewExamples is how many lines of examples a finding has, unless more are asked for.
const fewExamples = 2

// Findings lays out what there is to know about a plan, each verdict under a title of
// its own: what was found, what it is made of, examples, and what decides it.
func Findings(all []event.Check, verbose bool) string {
	var b strings.Builder
	verdict := ""
	for _, l := range all {
		if l.Result != verdict {
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
		for _, line := range fill(words, screenWidth-len(first)) {
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
		for _, line := range fill(strings.Split(Sanitize(example), " "), screenWidth-6) {
			b.WriteString("      " + Truncate(line, screenWidth-6) + "\n")
		}
	}
	if l.Hint != "" {
		hang("    Decides: ", strings.Fields(l.Hint))
	}
	return b.String()
}

// partsOf gives what a finding is made of; none of it is broken between lines.
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
