package strictyaml

import (
	"bytes"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// PlaceIn returns the line and column in the file, from 1, of the character at offset n of a value.
// It handles quotes, escapes and folded lines as people commonly write them.
func (f *File) PlaceIn(node ast.Node, n int) (line, column int) {
	value, _ := Scalar(node)
	t := node.GetToken()
	if t == nil || t.Position == nil {
		return 1, 1
	}
	r := &rawValue{data: f.data, at: f.offset(t.Position.Line, t.Position.Column)}
	r.begin(node)
	for _, c := range value {
		if n == 0 {
			break
		}
		r.pass(c)
		n--
	}
	r.skipContinued()
	return f.lineAndColumn(r.at)
}

// ErrorIn returns an error at a character of a value, see PlaceIn.
func (f *File) ErrorIn(node ast.Node, n int, message string) error {
	line, column := f.PlaceIn(node, n)
	return f.errorAt(line, column, message)
}

// Line returns the line in which a node begins.
func (f *File) Line(node ast.Node) int {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		node = m.Values[0].Key
	}
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// offset returns the offset of a line and column in the data.
func (f *File) offset(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(f.data[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	for ; column > 1 && at < len(f.data) && f.data[at] != '\n'; column-- {
		_, size := utf8.DecodeRune(f.data[at:])
		at += size
	}
	return at
}

func (f *File) lineAndColumn(offset int) (line, column int) {
	before := f.data[:min(offset, len(f.data))]
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// A rawValue reads a value as it is written in the file.
type rawValue struct {
	data   []byte
	at     int
	quote  byte // quotation mark of the value: ', " or 0
	indent int  // indentation of the lines of a block; -1 if the value is no block
}

// begin moves to the first character of a value.
func (r *rawValue) begin(node ast.Node) {
	r.indent = -1
	if _, block := node.(*ast.LiteralNode); block {
		r.skipTo('\n')
		r.at = min(r.at+1, len(r.data))
		r.indent = 0
		for r.peek(r.indent) == ' ' {
			r.indent++
		}
		r.at += r.indent
		return
	}
	if c := r.peek(0); c == '\'' || c == '"' {
		r.quote = c
		r.at++
	}
}

// peek returns a byte at a distance, 0 at the end.
func (r *rawValue) peek(ahead int) byte {
	if r.at+ahead >= len(r.data) {
		return 0
	}
	return r.data[r.at+ahead]
}

func (r *rawValue) skipTo(c byte) {
	for r.at < len(r.data) && r.data[r.at] != c {
		r.at++
	}
}

// pass skips the text that encodes a character of the value.
func (r *rawValue) pass(c rune) {
	r.skipContinued()
	switch next := r.peek(0); {
	case c == ' ' || c == '\n':
		r.passSpace()
	case r.quote == '\'' && next == '\'':
		r.at += len("''")
	case r.quote == '"' && next == '\\':
		r.passEscape()
	default:
		_, size := utf8.DecodeRune(r.data[min(r.at, len(r.data)):])
		r.at += size
	}
}

// passSpace skips a space, or a line break that encodes one.
func (r *rawValue) passSpace() {
	if r.quote == '"' && r.peek(0) == '\\' {
		r.passEscape()
		return
	}
	line := 0 // distance to the end of the line if only spaces are left
	for r.indent < 0 && (r.peek(line) == ' ' || r.peek(line) == '\r') {
		line++
	}
	if r.peek(line) != '\n' {
		r.at += min(1, len(r.data)-r.at)
		return
	}
	r.at += line
	for first := true; r.peek(0) == '\n' && (first || r.indent < 0); first = false { // in a block each one counts
		r.at++
		for n := 0; (r.indent < 0 || n < r.indent) && r.peek(0) == ' '; n++ {
			r.at++
		}
	}
}

// skipContinued skips a backslash at the end of a line, which encodes nothing.
func (r *rawValue) skipContinued() {
	if r.quote != '"' || r.peek(0) != '\\' || r.peek(1) != '\n' {
		return
	}
	for r.at += len("\\\n"); r.peek(0) == ' '; {
		r.at++
	}
}

// passEscape skips a backslash and the rest of its escape.
func (r *rawValue) passEscape() {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[r.peek(1)]
	r.at = min(r.at+len(`\x`)+digits, len(r.data))
}
