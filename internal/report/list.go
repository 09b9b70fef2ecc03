package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Choice selects the objects of a list.
type Choice struct {
	Only    string // as the user wrote it; empty for all
	states  []string
	warning bool // only those with a warning
}

// States are the values of --only.
func States() []string { return append([]string{"done", warning, undone}, order...) }

// ParseChoice reads a value of --only, empty for all. done selects every finished action, and
// warning those of them with a warning.
func ParseChoice(word string) (Choice, error) {
	c := Choice{Only: word}
	code := strings.ReplaceAll(word, "-", "_")
	switch {
	case word == "":
	case word == "done", word == warning:
		c.warning = word == warning
		for _, done := range order {
			if isDone(done) {
				c.states = append(c.states, done)
			}
		}
	case code == undone || slices.Contains(order, code):
		c.states = []string{code}
	default:
		return c, fmt.Errorf("%q is not a state of objects", word)
	}
	return c, nil
}

// takes reports whether a line is selected.
func (c Choice) takes(l Line) bool {
	if c.warning && l.Error == "" {
		return false
	}
	return len(c.states) == 0 || slices.Contains(c.states, l.State) || l.Undone && slices.Contains(c.states, undone)
}

// ErrOnlyCounted says that a list lacks the unchanged objects, because the state database has only
// their number.
var ErrOnlyCounted = errors.New("the state database stores only a count of the unchanged objects in this run")

// ErrPruned says that a run has no list of objects any more.
var ErrPruned = errors.New("the items of this run were pruned; only the counts are left")

// lacks reports whether a list lacks objects that were selected.
func (r Report) lacks(c Choice) bool {
	all := len(c.states) == 0
	return !r.lists.knowsUnchanged && r.lists.run.Unchanged > 0 && (all || slices.Contains(c.states, unchanged))
}

// A form writes lists in one format. It writes one list after the other, each between begin and
// end.
type form interface {
	extension() string // of files
	begin(w io.Writer, r Report) error
	line(w io.Writer, l Line) error
	end(w io.Writer, listed Folder) error

	// The index of a directory of lists.
	beginIndex(w io.Writer, r Report) error
	entry(w io.Writer, f Folder, file string) error
	endIndex(w io.Writer, r Report) error
}

// formOf returns the form of a format. clean makes text safe for terminals; nil leaves it as it is.
func formOf(format string, clean func(string) string) (form, error) {
	if clean == nil {
		clean = func(s string) string { return s }
	}
	switch format {
	case "csv":
		return newCSVForm(clean), nil
	case "keys":
		return &keysForm{clean: clean}, nil
	case "json":
		return newJSONForm(), nil
	case "text":
		return textForm{}, nil
	}
	return nil, fmt.Errorf("format %q has no lists", format)
}

// WriteList writes the selected objects of the run, in key order. clean is applied to text from
// outside where the format has no escapes; nil leaves it as it is. The list is also written if
// an error says that it lacks objects: ErrOnlyCounted or a LineBreakError.
func (r Report) WriteList(ctx context.Context, w io.Writer, format string, c Choice, clean func(string) string) error {
	f, err := formOf(format, clean)
	if err != nil {
		return err
	}
	if err := f.begin(w, r); err != nil {
		return err
	}
	parts := newParts()
	for l, err := range r.lists.lines(ctx, c) {
		if err != nil {
			return err
		}
		parts.add(l.State, Amount{1, l.Size})
		if err := f.line(w, l); err != nil {
			return err
		}
	}
	if err := f.end(w, Folder{Listed: parts.total(), States: parts.list()}); err != nil {
		return err
	}
	return r.incomplete(c, f)
}

// incomplete returns an error if lists in some forms lack objects.
func (r Report) incomplete(c Choice, forms ...form) error {
	var broken LineBreakError
	for _, f := range forms {
		if k, ok := f.(*keysForm); ok {
			broken.add(k.broken)
		}
	}
	if broken.Keys > 0 {
		return &broken
	}
	if r.lists.isPruned() {
		return ErrPruned
	}
	if r.lacks(c) {
		return fmt.Errorf("%w: %s", ErrOnlyCounted, objects(r.lists.run.Unchanged))
	}
	return nil
}
