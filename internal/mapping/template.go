package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/strictyaml"
)

// A place is where something stands in a file, for what goes wrong only later.
type place struct {
	file *strictyaml.File
	node ast.Node
}

// A part of a template is plain text, or an expression if there is one.
type part struct {
	plain      string
	expression *expression
	at         int // characters of the template before the expression
}

// A template is text in which expressions stand between "${" and "}".
type template struct {
	place
	source string
	parts  []part
}

// newTemplate reads a template. One that is a single expression may give several values,
// if that is what is needed.
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
	literal = "$${" // stands for the opening itself
)

// split cuts a template into its parts; the expressions are not compiled yet.
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
				return nil, &flaw{characters(source[:at]), `the expression that begins here has no "}" at its end; if there is a " #" in it, put quotes around all`}
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

// lengthOf is how many bytes an expression has before the brace that closes it; -1: there
// is none. Braces within quotes do not count.
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

// quoted is how many bytes a text in quotes has, with them; -1: it does not end.
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

// text returns what a template says of the object that a scope looks at.
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
			return "", t.fail(p.at, fmt.Sprintf("the expression gives a %T for this object; text is needed", value))
		}
		b.WriteString(text)
	}
	if b.Len() > maxText {
		return "", t.fail(0, errLong.Error())
	}
	return strings.TrimSpace(b.String()), nil
}

// list is text for a template that may give several values.
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
		return nil, t.fail(t.parts[0].at, fmt.Sprintf("the expression gives a %T for this object; texts are needed", value))
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

// fields are the fields that a template refers to.
func (t *template) fields() (names []string) {
	for _, p := range t.parts {
		if p.expression != nil {
			names = append(names, p.expression.fields...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// An EvaluationError says that a rule cannot be applied to an object, though nothing is
// wrong with the rule for others.
type EvaluationError struct {
	File         string
	Line, Column int
	What         string
}

func (e *EvaluationError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.What)
}

// Remedy is what to do next, with settings in braces.
func (e *EvaluationError) Remedy() string {
	return "mend the rule there, so that it is right for this object, too; assetferry plan {explain_mapping} KEY shows what it sees"
}
