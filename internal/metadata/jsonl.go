package metadata

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// jsonRows reads the rows of a table of JSON Lines.
type jsonRows struct {
	limit *rowLimit
	from  *bufio.Reader
	read  int64
	line  int // of the row read last
}

func newJSONRows(r io.Reader) *jsonRows {
	limit := &rowLimit{from: r}
	return &jsonRows{limit: limit, from: bufio.NewReader(limit)}
}

func (j *jsonRows) offset() int64 { return j.read }

func (j *jsonRows) next() (row, error) {
	for {
		j.limit.begin()
		line, err := j.from.ReadBytes('\n')
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			return row{}, err
		}
		j.read += int64(len(line))
		j.line++
		if len(bytes.TrimSpace(line)) > 0 {
			return j.row(line)
		}
	}
}

// row makes a row of a line.
func (j *jsonRows) row(line []byte) (row, error) {
	if !utf8.Valid(line) {
		return row{}, j.at(1, "the line is "+notText)
	}
	var is struct {
		Key string
		Metadata
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(&is)
	if err == nil && len(bytes.TrimSpace(line[d.InputOffset():])) > 0 {
		return row{}, j.at(d.InputOffset()+1, "something follows the object; each has a line of its own")
	} else if err != nil {
		return row{}, j.mistake(len(line), err)
	}
	r := row{key: rowKey(is.Key), metadata: is.Normal(), line: j.line, column: 1}
	if wrong := j.wrong(r); wrong != "" {
		return row{}, j.at(1, wrong)
	}
	return r, nil
}

// wrong says what cannot be meant by a row, or nothing.
func (j *jsonRows) wrong(r row) string {
	if r.key == "" {
		return noKey
	}
	for name := range r.metadata.Attributes {
		if wrong := wrongAttribute(name); wrong != "" {
			return wrong
		}
	}
	if m := check(r.metadata); m != nil {
		return m.What
	}
	return ""
}

func (j *jsonRows) at(column int64, what string) *Mistake {
	return &Mistake{j.line, max(int(column), 1), what}
}

// mistake puts what is wrong with a line into our words.
func (j *jsonRows) mistake(length int, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return j.at(e.Offset, "not JSON: "+e.Error())
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return j.at(1, `not a JSON object such as {"key": "a.jpg", "description": "A quay"}`)
		}
		field := strings.TrimPrefix(e.Field, "Metadata.")
		return j.at(e.Offset, fmt.Sprintf("in %s: a JSON %s where %s should be", field, e.Value, shouldBe(e.Type.Kind())))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return j.at(int64(length), "not JSON: the object is not closed")
	}
	return j.at(1, strings.TrimPrefix(err.Error(), "json: ")) // a field that has no meaning
}

// shouldBe is what a value should be that is not of a kind.
func shouldBe(k reflect.Kind) string {
	switch k {
	case reflect.Slice:
		return "a list of texts in quotes"
	case reflect.Map:
		return "an object of names and texts"
	}
	return "text in quotes"
}
