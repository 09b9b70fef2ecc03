package tabular

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// separators lists the field separators of files that programs call CSV.
const separators = ",;\t"

// csvRows reads the rows of a CSV table.
type csvRows struct {
	columns int
	limit   *rowLimit
	from    *csv.Reader
	use     Use
	like    string // a row to compare the number of fields with
}

func newCSVRows(r io.Reader, separator rune, columns int, u Use) *csvRows {
	limit := &rowLimit{from: r, left: MaxRow}
	from := csv.NewReader(bufio.NewReader(limit))
	from.Comma, from.FieldsPerRecord, from.ReuseRecord = separator, columns, true
	return &csvRows{columns: columns, limit: limit, from: from, use: u, like: "header"}
}

// beginCSV reads the header if the table has one.
func (f *File) beginCSV(from io.Reader) error {
	buffered := bufio.NewReaderSize(from, 64<<10)
	begin, err := buffered.Peek(buffered.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if f.beginRows(buffered, string(begin)) {
		return nil
	}
	separator := separatorOf(string(begin))
	c := newCSVRows(buffered, separator, 0, f.use)
	header, err := c.read()
	if errors.Is(err, io.EOF) {
		return &Mistake{1, 1, "the table is empty; it begins with a header"}
	} else if err != nil {
		return err
	}
	f.first, f.names = c, slices.Clone(header)
	c.columns = len(header)
	f.at = func(r io.Reader) reader { return newCSVRows(r, separator, len(header), f.use) }
	for n, name := range f.names {
		if f.names[n] = norm.NFC.String(strings.TrimSpace(name)); !utf8.ValidString(name) {
			return c.row(header).Mistake(n, "the name is "+notText)
		}
	}
	return nil
}

// beginRows makes the first line a row if the table has no header. It tries each separator, because
// a URL may contain the other ones.
func (f *File) beginRows(from io.Reader, begin string) bool {
	if f.use.IsRow == nil {
		return false
	}
	line, _, _ := strings.Cut(strings.TrimLeft(begin, "\r\n"), "\n")
	for _, separator := range "\t;," {
		r := csv.NewReader(strings.NewReader(line))
		r.Comma = separator
		cells, err := r.Read()
		if err != nil || !f.use.IsRow(cells) {
			continue
		}
		f.at = func(r io.Reader) reader {
			c := newCSVRows(r, separator, len(cells), f.use)
			c.like = "first row"
			return c
		}
		f.first, f.names = f.at(from), make([]string, len(cells))
		copy(f.names, f.use.Columns)
		return true
	}
	return false
}

// HeaderMistake returns a mistake in the name of a column. Call it before the first row is read.
func (f *File) HeaderMistake(column int, what string) *Mistake {
	return f.first.(*csvRows).row(nil).Mistake(column, what)
}

// separatorOf returns the field separator that a header uses.
func separatorOf(begin string) rune {
	header, _, _ := strings.Cut(strings.TrimLeft(begin, "\r\n"), "\n")
	if i := strings.IndexAny(header, separators); i >= 0 {
		return rune(header[i])
	}
	return ','
}

func (c *csvRows) offset() int64 { return c.from.InputOffset() }

func (c *csvRows) next() (Row, error) {
	for {
		c.limit.begin()
		fields, err := c.read()
		if err != nil {
			return Row{}, err
		}
		if slices.ContainsFunc(fields, func(f string) bool { return f != "" }) { // spreadsheets write empty rows
			return c.check(c.row(fields))
		}
	}
}

// read returns the fields of a row. It rewords the errors of the CSV reader.
func (c *csvRows) read() ([]string, error) {
	fields, err := c.from.Read()
	e, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return fields, err
	}
	switch {
	case errors.Is(e.Err, csv.ErrFieldCount):
		return nil, &Mistake{e.StartLine, 1, c.miscounted(len(fields))}
	case errors.Is(e.Err, csv.ErrBareQuote):
		return nil, &Mistake{e.Line, e.Column, `a " in a field: put the field into quotes, and double each " in it`}
	case errors.Is(e.Err, csv.ErrQuote):
		return nil, &Mistake{e.Line, e.Column, fmt.Sprintf("the row that begins in line %d has unmatched quotes", e.StartLine)}
	}
	return nil, err
}

// miscounted returns a message about a row whose number of fields differs from the header, with the
// usual cause.
func (c *csvRows) miscounted(fields int) string {
	s := "s"
	if fields == 1 {
		s = ""
	}
	hint := "write each field, even if it is empty"
	if fields > c.columns {
		hint = fmt.Sprintf("put fields with %q into quotes", c.from.Comma)
	}
	return fmt.Sprintf("the row has %d field%s, but the %s has %d; %s", fields, s, c.like, c.columns, hint)
}

func (c *csvRows) row(fields []string) Row {
	return Row{Cells: fields, place: c.from.FieldPos, use: c.use}
}

const notText = "not in UTF-8; save the table as UTF-8"

func (c *csvRows) check(r Row) (Row, error) {
	for n, field := range r.Cells {
		if !utf8.ValidString(field) {
			return Row{}, r.Mistake(n, "the text is "+notText)
		}
	}
	return r, nil
}
