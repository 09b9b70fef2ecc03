// Package strictyaml reads small YAML files that people write. It shows every error, its own and
// those of the parser, at its place: file, line, column, the line itself and a caret below it.
//
// It walks the nodes of a file instead of decoding it into a struct, because only nodes have a
// position.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits that no configuration needs. They keep the memory low if a wrong file is named: the parser
// takes gigabytes for deep nesting, and a hundred times as long for ten times as many keys.
const (
	maxFile  = 256 << 10
	maxDepth = 32
	maxKeys  = 10_000
)

// A File is a parsed file.
type File struct {
	Path string
	Root ast.Node // nil if the file contains only comments
	data []byte
}

// A Mistake is an error in a file, shown at its place.
type Mistake struct {
	Line, Column int // in characters, from 1; 0 if the error concerns the whole file
	What         string
	text         string
}

func (m *Mistake) Error() string { return m.text }

// Parse reads a file, which is one document of YAML. Every error is a *Mistake.
func Parse(path string, data []byte) (*File, error) {
	f := &File{Path: path, data: bytes.TrimPrefix(data, []byte("\uFEFF"))}
	if err := f.check(); err != nil {
		return nil, err
	}
	tree, err := parser.ParseBytes(f.data, 0, parser.AllowDuplicateMapKey()) // Entries reports duplicate keys
	if err != nil {
		return nil, f.syntaxError(err)
	}
	for _, document := range tree.Docs {
		switch {
		case document.Body == nil:
		case f.Root != nil:
			return nil, f.ErrorAt(document.Body, "the file has a second document")
		default:
			f.Root = document.Body
		}
	}
	return f, nil
}

// check refuses a file that cannot be a configuration.
func (f *File) check() error {
	if len(f.data) > maxFile {
		return f.notSettings(fmt.Sprintf("it is larger than %d KiB", maxFile>>10))
	}
	for at := 0; at < len(f.data); {
		r, n := utf8.DecodeRune(f.data[at:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			return f.errorAtOffset(at, "not text: a byte that is not UTF-8")
		}
		at += n
	}
	if tooDeep(f.data) {
		return f.notSettings("it is nested too deeply")
	}
	if keys(f.data) > maxKeys {
		return f.notSettings(fmt.Sprintf("it has more than %d keys", maxKeys))
	}
	return nil
}

// notSettings returns the error for a file that is probably another one than intended.
func (f *File) notSettings(what string) error {
	return &Mistake{What: what, text: f.Path + ": not a file of settings: " + what}
}

// Entries returns the keys and values of a mapping. A duplicate key is an error.
func (f *File) Entries(node ast.Node) ([]*ast.MappingValueNode, error) {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return nil, f.ErrorAt(node, "\"key: value\" lines are expected here")
	}
	lines := map[string]int{}
	for _, e := range mapping.Values {
		t := e.Key.GetToken()
		if first, is := lines[t.Value]; is {
			return nil, f.ErrorAt(e.Key, fmt.Sprintf("%q appears twice, first in line %d", t.Value, first))
		}
		lines[t.Value] = t.Position.Line
	}
	return mapping.Values, nil
}

// Scalar returns the text of a scalar value as it is written.
func Scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// Plain reports whether neither the node nor a node below it has a tag, an anchor or an alias.
func Plain(node ast.Node) bool {
	plain := true
	ast.Walk(visitor(func(n ast.Node) bool {
		switch n.(type) {
		case *ast.TagNode, *ast.AnchorNode, *ast.AliasNode:
			plain = false
		}
		return plain // the node below a tag may be nil, and Walk would panic
	}), node)
	return plain
}

// A visitor is called for each node, and reports whether to visit the nodes below it.
type visitor func(ast.Node) bool

func (v visitor) Visit(n ast.Node) ast.Visitor {
	if v(n) {
		return v
	}
	return nil
}

// ErrorAt returns an error at the place of a node.
func (f *File) ErrorAt(node ast.Node, message string) error {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		node = m.Values[0].Key // the token of such a mapping is its first ":"
	}
	return f.errorAtToken(node.GetToken(), message)
}

// syntaxError returns an error of the parser, reworded if its message is about parsing.
func (f *File) syntaxError(err error) error {
	if at := f.tab(); at >= 0 {
		return f.errorAtOffset(at, "a tab cannot indent; use spaces")
	}
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return f.errorAsAWhole(err.Error())
	}
	message := e.GetMessage()
	for theirs, ours := range map[string]string{
		"unexpected key name":          `"key: value" is expected here; is the ":" missing?`,
		"mapping value is not allowed": `a second ":" in this line; put quotes around the value`,
		"end character of":             "the quote at the end is missing",
		"sequence end token":           `the "]" at the end of the list is missing`,
		"flow mapping end token":       `the "}" at the end is missing`,
		"reserved character":           "a value cannot begin with this character; put quotes around it",
	} {
		if strings.Contains(message, theirs) {
			message = ours
		}
	}
	return f.errorAtToken(e.GetToken(), message)
}

// tab returns the offset of the first tab that indents a line, or -1.
func (f *File) tab() int {
	at := 0
	for line := range bytes.Lines(f.data) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if i := bytes.IndexByte(indent, '\t'); i >= 0 && len(bytes.TrimSpace(line)) > 0 {
			return at + i
		}
		at += len(line)
	}
	return -1
}

// errorAsAWhole returns an error without a place.
func (f *File) errorAsAWhole(message string) error {
	return &Mistake{What: message, text: f.Path + ": " + message}
}

func (f *File) errorAtToken(t *token.Token, message string) error {
	if t == nil || t.Position == nil {
		return f.errorAsAWhole(message)
	}
	return f.errorAt(t.Position.Line, t.Position.Column, message)
}

func (f *File) errorAtOffset(offset int, message string) error {
	before := f.data[:offset]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return f.errorAt(bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[begin:])+1, message)
}

// errorAt returns an error with its place and its line.
func (f *File) errorAt(line, column int, message string) error {
	text := fmt.Sprintf("%s:%d:%d: %s", f.Path, line, column, message)
	lines := strings.Split(string(f.data), "\n")
	if line >= 1 && line <= len(lines) {
		prefix := fmt.Sprintf("  %d | ", line)
		text += "\n" + prefix + maskSecrets(visible(strings.TrimSuffix(lines[line-1], "\r"))) +
			"\n" + strings.Repeat(" ", len(prefix)+max(0, column-1)) + "^"
	}
	return &Mistake{Line: line, Column: column, What: message, text: text}
}

// visible replaces characters of a line so that each is one column wide and the caret is right.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r):
			return '?'
		}
		return r
	}, line)
}

// maskSecrets hides the values of keys that may contain secrets, the user information of URLs, and
// URLs without a key, which may be webhooks: error messages end up in logs.
func maskSecrets(line string) string {
	secret := regexp.MustCompile(`(?i)(key|secret|password|token|notify)["']?\s*:\s*\S|://[^/\s]*@|^[\s\-\["']*([a-z,]+=)?https?://`)
	at := secret.FindStringIndex(line)
	if at == nil {
		return line
	}
	shown := line[:at[1]-1]
	if i := strings.Index(line[at[0]:at[1]], "://"); i >= 0 {
		shown = line[:at[0]+i+len("://")]
	}
	return shown + "..."
}

// Suggestion returns a question with the known word that is most similar to a wrong one, or "" if
// none is similar enough.
func Suggestion(wrong string, known []string) string {
	if best := Closest(wrong, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// Closest returns the known word that is most similar to a wrong one, or "" if none is similar
// enough.
func Closest(wrong string, known []string) string {
	best, distance := "", min(3, (len(wrong)+2)/2)
	for _, k := range known {
		if d := editDistance(wrong, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance returns the number of characters to insert, delete or replace.
func editDistance(a, b string) int {
	if len(a) > 64 { // no key is that long
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// tooDeep reports whether brackets, or dashes at the beginning of lines, are nested too deep.
func tooDeep(data []byte) bool {
	brackets := 0
	for line := range bytes.Lines(data) {
		line = bytes.TrimLeft(line, " ")
		for range maxDepth {
			rest, isDash := bytes.CutPrefix(line, []byte("- "))
			if !isDash {
				break
			}
			line = bytes.TrimLeft(rest, " ")
		}
		if bytes.HasPrefix(line, []byte("- ")) {
			return true
		}
		if bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				brackets++
			case ']', '}':
				brackets = max(0, brackets-1)
			}
			if brackets > maxDepth {
				return true
			}
		}
	}
	return false
}

// keys returns the number of characters that may end a key.
func keys(data []byte) (n int) {
	for at, c := range data {
		if c == ':' && (at+1 == len(data) || unicode.IsSpace(rune(data[at+1]))) {
			n++
		}
	}
	return n
}
