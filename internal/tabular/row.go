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

// A Row is one of a table. It is valid until the next one is read.
type Row struct {
	Cells []string // of CSV, as many as there are columns
	JSON  []byte   // of JSON Lines: the line

	place  func(cell int) (line, column int) // of CSV
	line   int                               // of JSON Lines
	before int                               // lines, before where its reader began
	use    Use
}

// Where tells where in the table a cell is; of JSON, where the row is.
func (r Row) Where(cell int) (line, column int) {
	if r.place == nil {
		return r.before + r.line, 1
	}
	line, column = r.place(cell)
	return r.before + line, column
}

// Mistake is one in a cell; of JSON, in the row.
func (r Row) Mistake(cell int, what string) *Mistake {
	line, column := r.Where(cell)
	return &Mistake{line, column, what}
}

// Decode reads a row of JSON. What is wrong with it is a *Mistake, and so is a name that
// a struct has no field for.
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

// explain puts what is wrong with a line into our words.
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
	return r.at(1, strings.TrimPrefix(err.Error(), "json: ")) // a field that has no meaning
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
