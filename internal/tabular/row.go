package tabular

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// A Row is a row of a table. It is valid until the next one is read.
type Row struct {
	Cells []string // for CSV, one for each column
	JSON  []byte   // for JSON Lines: the line

	place  func(cell int) (line, column int) // for CSV
	line   int                               // for JSON Lines
	before int                               // number of lines before the first line of the reader
	use    Use
}

// Where returns the line and column of a cell; for JSON Lines, those of the row.
func (r Row) Where(cell int) (line, column int) {
	if r.place == nil {
		return r.before + r.line, 1
	}
	line, column = r.place(cell)
	return r.before + line, column
}

// Mistake returns a mistake in a cell; for JSON Lines, in the row.
func (r Row) Mistake(cell int, what string) *Mistake {
	line, column := r.Where(cell)
	return &Mistake{line, column, what}
}

// Decode decodes a row of JSON Lines into a struct. It returns a *Mistake if the row is invalid or
// has a name without a field in the struct.
func (r Row) Decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(r.JSON))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return r.explain(err)
	}
	if len(bytes.TrimSpace(r.JSON[d.InputOffset():])) > 0 {
		return r.at(d.InputOffset()+1, "data follows the object; each object needs its own line")
	}
	return nil
}

func (r Row) at(column int64, what string) *Mistake {
	return &Mistake{r.before + r.line, max(int(column), 1), what}
}

// explain rewords a decoding error and adds its place.
func (r Row) explain(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return r.at(e.Offset, "not JSON: "+e.Error())
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return r.at(1, "not a JSON object such as "+r.use.Example)
		}
		return r.at(e.Offset, fmt.Sprintf("in %s: a JSON %s where %s should be", e.Field, e.Value, shouldBe(e.Type.Kind())))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return r.at(int64(len(r.JSON)), "not JSON: the object is not closed")
	}
	return r.at(1, strings.TrimPrefix(err.Error(), "json: ")) // an unknown field
}

// shouldBe describes the value that a field of this kind needs.
func shouldBe(k reflect.Kind) string {
	switch k {
	case reflect.Slice:
		return "a list of texts in quotes"
	case reflect.Map:
		return "an object of names and texts"
	}
	return "text in quotes"
}
