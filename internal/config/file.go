package config

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// What no configuration needs. The limits keep a file that was named by mistake
// out of the memory: for deep nesting, the parser takes gigabytes.
const (
	maxFile  = 256 << 10
	maxDepth = 32
)

// A file is a configuration file while it is read. It is walked node by node
// rather than decoded into a struct, so that every mistake, ours and the
// parser's, is shown at its place.
type file struct {
	path string
	data []byte
}

// parse puts what a file says into the settings.
func (s *Settings) parse(path string, data []byte, rows []row) error {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	f := file{path, data}
	if len(data) > maxFile || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 || tooDeep(data) {
		return &UsageError{Msg: path + ": not a configuration file: it is too large, nested too deeply, or not text"}
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return f.syntaxError(err)
	}
	var roots []ast.Node
	for _, document := range tree.Docs {
		if document.Body != nil {
			roots = append(roots, document.Body)
		}
	}
	switch len(roots) {
	case 0: // empty, or comments only
		return nil
	case 1:
	default:
		return f.errorAt(roots[1], "the file has a second document")
	}
	destinations := row{key: "destinations"}
	return f.walk(roots[0], append(rows, destinations), func(r row, value ast.Node) error {
		if r.key == destinations.key {
			return s.parseDestinations(f, value)
		}
		if err := f.apply(r, value); err != nil {
			return err
		}
		s.origin[r.key] = FromFile
		return nil
	})
}

// tooDeep looks at the brackets and at the dashes in front of lines.
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

func (s *Settings) parseDestinations(f file, node ast.Node) error {
	entries, err := f.entries(node)
	if err != nil {
		return err
	}
	s.Destinations = make(map[string]Named)
	for _, e := range entries {
		name := e.Key.GetToken().Value
		if !destinationName(name) {
			return f.errorAt(e.Key, fmt.Sprintf("%q cannot be the name of a destination; use letters, digits and \".-_\", and not %q", name, sandboxName))
		}
		var n Named
		if err := f.walk(e.Value, n.table(), f.apply); err != nil {
			return err
		}
		if err := n.check(); err != nil {
			return f.errorAt(e.Key, fmt.Sprintf("destination %q: %v", name, err))
		}
		s.Destinations[name] = n
	}
	return nil
}

// walk goes through a mapping whose keys are rows.
func (f file) walk(node ast.Node, rows []row, visit func(row, ast.Node) error) error {
	entries, err := f.entries(node)
	if err != nil {
		return err
	}
	byKey := make(map[string]row)
	for _, r := range rows {
		byKey[r.key] = r
	}
	for _, e := range entries {
		key := e.Key.GetToken().Value
		r, ok := byKey[key]
		if !ok {
			return f.errorAt(e.Key, fmt.Sprintf("unknown key %q%s", key, suggestion(key, slices.Sorted(maps.Keys(byKey)))))
		}
		if e.Value.Type() == ast.NullType { // "key:" without a value, as in a template
			continue
		}
		if err := visit(r, e.Value); err != nil {
			return err
		}
	}
	return nil
}

func (f file) entries(node ast.Node) ([]*ast.MappingValueNode, error) {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return nil, f.errorAt(node, "\"key: value\" lines are expected here")
	}
	return mapping.Values, nil
}

// apply stores the value of one key.
func (f file) apply(r row, node ast.Node) error {
	nodes := []ast.Node{node}
	if sequence, ok := node.(*ast.SequenceNode); ok {
		if !r.list {
			return f.errorAt(node, r.key+" takes one value, not a list")
		}
		nodes = sequence.Values
	}
	values := make([]string, 0, len(nodes))
	for _, n := range nodes {
		value, ok := scalar(n)
		_, isBool := n.(*ast.BoolNode)
		switch {
		case !ok:
			return f.errorAt(n, r.key+" takes a plain value")
		case isBool && !r.yesNo:
			return f.errorAt(n, r.key+" takes text; put quotes around "+value)
		case !isBool && r.yesNo:
			return f.errorAt(n, fmt.Sprintf("%s takes true or false, not %q", r.key, value))
		}
		if r.path {
			value = f.resolve(value)
		}
		values = append(values, value)
	}
	if err := r.set(values); err != nil {
		return f.errorAt(node, fmt.Sprintf("%s: %v", r.key, err))
	}
	return nil
}

// scalar returns a value as it is written.
func scalar(node ast.Node) (string, bool) {
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

// resolve makes a path of the file one of the process: it is relative to the
// file's folder, or to the home folder if it begins with "~/".
func (f file) resolve(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.path), path)
}

func (f file) errorAt(node ast.Node, message string) error {
	return f.errorAtToken(node.GetToken(), message)
}

func (f file) syntaxError(err error) error {
	if e, ok := err.(yaml.Error); ok {
		return f.errorAtToken(e.GetToken(), e.GetMessage())
	}
	return &UsageError{Msg: f.path + ": " + err.Error()}
}

// errorAtToken shows a mistake with its place and its line.
func (f file) errorAtToken(t *token.Token, message string) error {
	if t == nil || t.Position == nil {
		return &UsageError{Msg: f.path + ": " + message}
	}
	line, column := t.Position.Line, t.Position.Column
	text := fmt.Sprintf("%s:%d:%d: %s", f.path, line, column, message)
	lines := strings.Split(string(f.data), "\n")
	if line >= 1 && line <= len(lines) {
		source := strings.ReplaceAll(strings.TrimSuffix(lines[line-1], "\r"), "\t", " ")
		prefix := fmt.Sprintf("  %d | ", line)
		text += "\n" + prefix + maskSecrets(source) +
			"\n" + strings.Repeat(" ", len(prefix)+max(0, column-1)) + "^"
	}
	return &UsageError{Msg: text}
}

// maskSecrets hides what follows a key that may hold a secret, and who logs in
// with an address: messages end up in logs.
func maskSecrets(line string) string {
	secret := regexp.MustCompile(`(?i)(key|secret|password|token)["']?\s*:\s*\S|://[^/\s]*@`)
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

// suggestion names the known word that is closest to a wrong one, if most of the
// wrong one is in it.
func suggestion(wrong string, known []string) string {
	best, distance := "", min(3, (len(wrong)+2)/2)
	for _, k := range known {
		if d := editDistance(wrong, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance counts the characters to insert, delete or replace.
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
