package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/strictyaml"
)

// A place is a position in a file, for errors that occur later.
type place struct {
	file *strictyaml.File
	node ast.Node
}

// A part of a template is plain text or an expression.
type part struct {
	plain      string
	expression *expression
	at         int // offset of the expression in characters
}

// A template is text with expressions between "${" and "}".
type template struct {
	place
	source string
	parts  []part
}

// newTemplate parses a template. A template of a single expression may return several values if gives is
// aList.
func newTemplate(p place, source string, gives kind) (*template, *flaw) {
	t := &template{place: p, source: source}
	parts, wrong := split(source)
	for i := range parts {
		if wrong != nil {
			return nil, wrong
		}
		if parts[i].expression == nil {
			continue
		}
		single := gives
		if len(parts) > 1 {
			single = aText
		}
		e, inner := compile(parts[i].expression.source, single)
		if inner != nil {
			wrong = &flaw{parts[i].at + inner.at, inner.what}
		}
		parts[i].expression = e
	}
	t.parts = parts
	return t, wrong
}

const (
	opening = "${"
	literal = "$${" // a literal "${"
)

// split splits a template into its parts, without compiling the expressions.
func split(source string) (parts []part, wrong *flaw) {
	var plain strings.Builder
	for at := 0; at < len(source); {
		rest := source[at:]
		switch {
		case strings.HasPrefix(rest, literal):
			plain.WriteString(opening)
			at += len(literal)
		case strings.HasPrefix(rest, opening):
			length := lengthOf(rest[len(opening):])
			if length < 0 {
				return nil, &flaw{characters(source[:at]), `the "}" of this expression is missing; if it contains " #", quote the whole text`}
			}
			if plain.Len() > 0 {
				parts = append(parts, part{plain: plain.String()})
				plain.Reset()
			}
			begin := at + len(opening)
			parts = append(parts, part{expression: &expression{source: source[begin : begin+length]}, at: characters(source[:begin])})
			at = begin + length + len("}")
		default:
			plain.WriteByte(source[at])
			at++
		}
	}
	if plain.Len() > 0 {
		parts = append(parts, part{plain: plain.String()})
	}
	return parts, nil
}

// lengthOf returns the length in bytes of an expression before its closing brace, or -1. Braces within
// quotes do not count.
func lengthOf(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'', '`':
			length := quoted(text[i:], c)
			if length < 0 {
				return -1
			}
			i += length - 1
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// quoted returns the length in bytes of a quoted text with its quotes, or -1 if it does not end.
func quoted(text string, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

// text returns the text of a template for the object of a scope.
func (t *template) text(s *scope) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.expression == nil {
			b.WriteString(p.plain)
			continue
		}
		value, err := t.value(s, p)
		if err != nil {
			return "", err
		}
		text, ok := textOf(value)
		if !ok {
			return "", t.fail(p.at, fmt.Sprintf("the expression returns a %T for this object; text is required", value))
		}
		b.WriteString(text)
	}
	if b.Len() > maxText {
		return "", t.fail(0, errLong.Error())
	}
	return strings.TrimSpace(b.String()), nil
}

// list is text for a template that may return several values.
func (t *template) list(s *scope) ([]string, error) {
	if len(t.parts) != 1 || t.parts[0].expression == nil {
		text, err := t.text(s)
		return []string{text}, err
	}
	value, err := t.value(s, t.parts[0])
	if err != nil {
		return nil, err
	}
	texts, ok := listOf(value)
	if !ok {
		return nil, t.fail(t.parts[0].at, fmt.Sprintf("the expression returns a %T for this object; texts are required", value))
	}
	return texts, nil
}

func (t *template) value(s *scope, p part) (any, error) {
	value, wrong := p.expression.run(s)
	if wrong != nil {
		return nil, t.fail(p.at+wrong.at, wrong.what)
	}
	return value, nil
}

func (p place) fail(at int, what string) error {
	line, column := p.file.PlaceIn(p.node, at)
	return &EvaluationError{File: p.file.Path, Line: line, Column: column, What: what}
}

func (p place) line() int { return p.file.Line(p.node) }

// fields returns the fields in a template.
func (t *template) fields() (names []string) {
	for _, p := range t.parts {
		if p.expression != nil {
			names = append(names, p.expression.fields...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// An EvaluationError means that a rule fails for one object, but not for all.
type EvaluationError struct {
	File         string
	Line, Column int
	What         string
}

func (e *EvaluationError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.What)
}

// Remedy returns the next step, with settings in braces.
func (e *EvaluationError) Remedy() string {
	return "fix the rule for this object; plan {explain_mapping} KEY shows its metadata"
}
