package tabular

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Writer writes CSV in the format of RFC 4180, for people with a spreadsheet. It escapes
// formulas, see EscapeFormula. It also quotes each cell that contains a character which any program
// treats as a separator: some programs split at semicolons and tabs in every file, and the text
// behind the split would be a cell that is not escaped.
type Writer struct {
	to   io.Writer
	end  string
	line []byte
}

// NewWriter returns a Writer that ends rows with a line feed.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, end: "\n"} }

// NewCRLFWriter returns a Writer that ends rows with CR LF, as in RFC 4180.
func NewCRLFWriter(to io.Writer) *Writer { return &Writer{to: to, end: "\r\n"} }

// Write writes a row, in one call of the underlying writer, and returns its error. A program that
// reads the row may get the line breaks of a cell as line feeds.
func (w *Writer) Write(cells []string) error {
	w.line = append(AppendCSV(w.line[:0], cells), w.end...)
	_, err := w.to.Write(w.line)
	return err
}

// AppendCSV appends a row in the format of Writer, without the end of the line.
func AppendCSV(line []byte, cells []string) []byte {
	for n, cell := range cells {
		if n > 0 {
			line = append(line, ',')
		}
		line = appendCell(line, EscapeFormula(cell))
	}
	if len(cells) == 1 && cells[0] == "" {
		line = append(line, `""`...) // because readers skip an empty line
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

// formulaStarts lists the characters that spreadsheets take for the beginning of a formula or of a
// command to another program, and white space that they skip before one. The wide forms come from
// East Asian keyboards.
var formulaStarts = [...]string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"}

// EscapeFormula puts an apostrophe before a formula, so that a spreadsheet shows it as text. It
// also escapes a text that looks escaped, so that UnescapeFormula returns exactly the original.
func EscapeFormula(cell string) string {
	if isFormula(cell) {
		return "'" + cell
	}
	return cell
}

func isLetterOrDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// UnescapeFormula reverses EscapeFormula.
func UnescapeFormula(cell string) string {
	if isFormula(cell) {
		return strings.TrimPrefix(cell, "'")
	}
	return cell
}

// isFormula reports whether a spreadsheet may take a text for a formula, ignoring apostrophes
// before it.
func isFormula(cell string) bool {
	if cell == "" || isLetterOrDigit(cell[0]) || cell[0] == '/' { // nearly all texts
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
