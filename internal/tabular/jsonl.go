package tabular

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// jsonRows reads the rows of a JSON Lines table.
type jsonRows struct {
	limit *rowLimit
	from  *bufio.Reader
	read  int64
	line  int // number of the last row
	use   Use
}

func newJSONRows(r io.Reader, u Use) *jsonRows {
	limit := &rowLimit{from: r}
	return &jsonRows{limit: limit, from: bufio.NewReader(limit), use: u}
}

func (f *File) beginJSON(from io.Reader) error {
	f.at = func(r io.Reader) reader { return newJSONRows(r, f.use) }
	f.first = f.at(from)
	return nil
}

func (j *jsonRows) offset() int64 { return j.read }

func (j *jsonRows) next() (Row, error) {
	for {
		j.limit.begin()
		line, err := j.from.ReadBytes('\n')
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			return Row{}, err
		}
		j.read += int64(len(line))
		j.line++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r := Row{JSON: line, line: j.line, use: j.use}
		if !utf8.Valid(line) {
			return Row{}, r.Mistake(0, "the line is "+notText)
		}
		return r, nil
	}
}
