package metadata

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// separators are what programs write between the fields of what they call CSV.
const separators = ",;\t"

// Columns are what the fields of a CSV table mean.
type columns struct {
	separator              rune
	names                  []string
	key, description, tags int // -1 if there is none
}

// isAttribute reports whether a column is a custom attribute.
func (c columns) isAttribute(n int) bool { return n != c.key && n != c.description && n != c.tags }

// csvRows reads the rows of a CSV table.
type csvRows struct {
	columns
	limit *rowLimit
	from  *csv.Reader
}

func newCSVRows(r io.Reader, c columns) *csvRows {
	limit := &rowLimit{from: r, left: maxRow}
	from := csv.NewReader(bufio.NewReader(limit))
	from.Comma, from.FieldsPerRecord, from.ReuseRecord = c.separator, len(c.names), true
	return &csvRows{columns: c, limit: limit, from: from}
}

// openCSV reads the header of a table, and gives the reader of the rows below it.
func openCSV(r io.Reader) (*csvRows, error) {
	buffered := bufio.NewReader(r)
	begin, err := buffered.Peek(buffered.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	c := newCSVRows(buffered, columns{separator: separatorOf(string(begin))})
	names, err := c.read()
	if errors.Is(err, io.EOF) {
		return nil, &Mistake{1, 1, "the table is empty; it begins with a header"}
	} else if err != nil {
		return nil, err
	}
	return c, c.name(slices.Clone(names))
}

// separatorOf tells by the header what separates fields.
func separatorOf(begin string) rune {
	header, _, _ := strings.Cut(strings.TrimLeft(begin, "\r\n"), "\n")
	if i := strings.IndexAny(header, separators); i >= 0 {
		return rune(header[i])
	}
	return ','
}

// name gives columns their meaning by their names.
func (c *csvRows) name(names []string) error {
	c.key, c.description, c.tags = -1, -1, -1
	known := map[string]*int{"key": &c.key, "description": &c.description, "tags": &c.tags}
	for n, name := range names {
		names[n] = normal(name)
		meaning := known[strings.ToLower(names[n])]
		wrong := wrongAttribute(names[n])
		if meaning != nil && *meaning >= 0 || slices.Contains(names[:n], names[n]) {
			wrong = fmt.Sprintf("there are two columns %q", names[n])
		}
		if wrong != "" {
			return c.at(n, &Mistake{What: wrong})
		}
		if meaning != nil {
			*meaning = n
		}
	}
	if c.names = names; c.key < 0 {
		return &Mistake{1, 1, "the header has no column called key"}
	}
	return nil
}

func (c *csvRows) offset() int64 { return c.from.InputOffset() }

func (c *csvRows) next() (row, error) {
	for {
		c.limit.begin()
		fields, err := c.read()
		if err != nil {
			return row{}, err
		}
		if slices.ContainsFunc(fields, func(f string) bool { return f != "" }) { // spreadsheets write rows of nothing
			return c.row(fields)
		}
	}
}

// read reads the fields of a row, and puts what is wrong with its form into our words.
func (c *csvRows) read() ([]string, error) {
	fields, err := c.from.Read()
	e, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return fields, err
	}
	switch {
	case errors.Is(e.Err, csv.ErrFieldCount):
		return nil, &Mistake{e.StartLine, 1, fmt.Sprintf("the row has %d fields, and the header %d", len(fields), len(c.names))}
	case errors.Is(e.Err, csv.ErrBareQuote):
		return nil, &Mistake{e.Line, e.Column, `a " within a field: put the field into quotes, and write each " in it twice`}
	case errors.Is(e.Err, csv.ErrQuote):
		return nil, &Mistake{e.Line, e.Column, fmt.Sprintf("the quotes of the row that begins in line %d do not match", e.StartLine)}
	}
	return nil, err
}

// row makes a row of its fields.
func (c *csvRows) row(fields []string) (row, error) {
	for n, field := range fields {
		if !utf8.ValidString(field) {
			return row{}, c.at(n, &Mistake{What: "the text is " + notText})
		}
	}
	key, m := rowKey(fields[c.key]), c.metadata(fields)
	if key == "" {
		return row{}, c.at(c.key, &Mistake{What: noKey})
	}
	if wrong := check(m); wrong != nil {
		return row{}, c.at(c.description, wrong)
	}
	r := row{key: key, metadata: m}
	r.line, r.column = c.from.FieldPos(c.key)
	return r, nil
}

func (c *csvRows) metadata(fields []string) Metadata {
	m := Metadata{}
	for n, field := range fields {
		switch {
		case n == c.description:
			m.Description = field
		case n == c.tags: // a tag with one of these in it takes a table of JSON
			m.Tags = strings.FieldsFunc(field, func(r rune) bool { return r == ';' || r == ',' })
		case field != "" && c.isAttribute(n):
			m.set(c.names[n], field)
		}
	}
	return m.Normal()
}

// at places a mistake in a field of the row that was read last.
func (c *csvRows) at(field int, m *Mistake) *Mistake {
	m.Line, m.Column = c.from.FieldPos(field)
	return m
}
