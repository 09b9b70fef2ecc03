package tabular

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Writer writes CSV as RFC 4180 has it, for people with a spreadsheet. It guards every
// cell, see EscapeFormula, and quotes one that has any of the characters that programs take for
// the end of a field: some of them split at semicolons and tabs whatever the file is made of,
// and what follows the split would be a cell of its own that nobody guarded.
type Writer struct {
	to   io.Writer
	end  string
	line []byte
}

// NewWriter returns a Writer whose rows end with a line feed.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, end: "\n"} }

// NewCRLFWriter returns a Writer whose rows end as RFC 4180 has it.
func NewCRLFWriter(to io.Writer) *Writer { return &Writer{to: to, end: "\r\n"} }

// Write writes a row, in one call of what is written to. Errors are those of it. Line breaks
// in a cell may come back as line feeds, whatever they were.
func (w *Writer) Write(cells []string) error {
	w.line = append(AppendCSV(w.line[:0], cells), w.end...)
	_, err := w.to.Write(w.line)
	return err
}

// AppendCSV appends a row as a Writer writes it, without the end of the line.
func AppendCSV(line []byte, cells []string) []byte {
	for n, cell := range cells {
		if n > 0 {
			line = append(line, ',')
		}
		line = appendCell(line, EscapeFormula(cell))
	}
	if len(cells) == 1 && cells[0] == "" {
		line = append(line, `""`...) // an empty line would be no row
	}
	return line
}

func appendCell(line []byte, cell string) []byte {
	first, _ := utf8.DecodeRuneInString(cell)
	if !strings.ContainsAny(cell, "\"\r\n"+separators) && !unicode.IsSpace(first) {
		return append(line, cell...)
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(cell, `"`, `""`)...)
	return append(line, '"')
}

// formulaStarts are what spreadsheets take for the beginning of a formula, of a command to
// another program, or for blanks before one; the wide forms are those of East Asian keyboards.
var formulaStarts = [...]string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"}

// EscapeFormula keeps a spreadsheet from running a text: an apostrophe in front makes it text.
// Texts that look guarded already get another one, so that UnescapeFormula gives the very text back.
func EscapeFormula(cell string) string {
	if isFormula(cell) {
		return "'" + cell
	}
	return cell
}

func isLetterOrDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// UnescapeFormula undoes EscapeFormula.
func UnescapeFormula(cell string) string {
	if isFormula(cell) {
		return strings.TrimPrefix(cell, "'")
	}
	return cell
}

// isFormula reports whether a spreadsheet may take a text for a formula, whatever number of
// apostrophes is in front of it.
func isFormula(cell string) bool {
	if cell == "" || isLetterOrDigit(cell[0]) || cell[0] == '/' { // as nearly all begin
		return false
	}
	rest := strings.TrimLeft(cell, "'")
	for _, start := range formulaStarts {
		if strings.HasPrefix(rest, start) {
			return true
		}
	}
	return false
}
