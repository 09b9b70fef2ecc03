package ui

import (
	"strings"

	"assetferry/internal/pattern"
)

// Wrap breaks text between words into lines of at most a number of columns. A longer word has a
// line of its own.
func Wrap(text string, columns int) []string { return Fill(strings.Fields(text), columns) }

// Fill joins words into lines of at most a number of columns.
func Fill(words []string, columns int) []string {
	lines := []string{""}
	for _, word := range words {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case textWidth(*last)+1+textWidth(word) > columns:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// wrapLines wraps each line at a number of columns; 0 means no limit. Continuation lines have the
// indent of the first, or of the text after a label with two spaces or more. Tables stay unchanged,
// and so do commands of the program: people paste them.
func wrapLines(text string, columns int, program string) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\n")
		b.WriteString(wrapLine(content, columns, program) + line[len(content):])
	}
	return b.String()
}

func wrapLine(line string, columns int, program string) string {
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	command := strings.TrimPrefix(text, "$ ")
	isCommand := indent != "" && (strings.HasPrefix(command, program+" ") || strings.HasPrefix(command, programName+" "))
	gaps := gap().FindAllStringIndex(text, 2)
	if textWidth(line) <= columns || isCommand || len(gaps) > 1 {
		return line
	}
	label := indent
	if len(gaps) == 1 {
		label, text = indent+text[:gaps[0][1]], text[gaps[0][1]:]
		indent = strings.Repeat(" ", textWidth(label))
	}
	return label + strings.Join(Fill(unbroken(text, program), columns-len(indent)), "\n"+indent)
}

// gap matches the space between columns.
var gap = pattern.Lazy(`  +`)

// unbroken splits text into its words. A command, and a flag with its value, count as one word.
func unbroken(text, program string) (words []string) {
	before, rest, found := strings.Cut(" "+text, " "+program+" ")
	words = flagsWithValues(strings.Fields(before))
	if !found {
		return words
	}
	command := program
	tail := strings.Fields(rest)
	for n, word := range tail {
		command += " " + word
		if strings.ContainsAny(word[len(word)-1:], ",;:.)") {
			return append(append(words, command), unbroken(strings.Join(tail[n+1:], " "), program)...)
		}
	}
	return append(words, command)
}

// flagsWithValues joins each flag with the word after it, such as "--wait 10s".
func flagsWithValues(fields []string) (words []string) {
	for n, field := range fields {
		if n > 0 && takesValue(fields[n-1]) && !strings.HasPrefix(field, "-") {
			words[len(words)-1] += " " + field
		} else {
			words = append(words, field)
		}
	}
	return words
}

func takesValue(word string) bool {
	return strings.HasPrefix(word, "--") && !strings.ContainsAny(word[len(word)-1:], ",;:.)")
}
