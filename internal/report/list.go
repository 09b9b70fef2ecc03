package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Choice says which objects a list is of.
type Choice struct {
	Only     string // as the user said it; empty for all
	told     []string
	remarked bool // only those with a remark
}

// States are the words that choose objects for a list, as users write them.
func States() []string {
	all := []string{"done", remarked, undone}
	for _, told := range order {
		all = append(all, strings.ReplaceAll(told, " ", "-"))
	}
	return all
}

// ParseChoice reads the word that chooses objects for a list, empty for all. done is
// everything that was carried out, and remarked what of that there is a remark on.
func ParseChoice(word string) (Choice, error) {
	c := Choice{Only: word}
	told := strings.ReplaceAll(strings.ReplaceAll(word, "-", " "), "_", " ")
	switch {
	case word == "":
	case word == "done", word == remarked:
		c.remarked = word == remarked
		for _, done := range order {
			if isDone(done) {
				c.told = append(c.told, done)
			}
		}
	case told == undone || slices.Contains(order, told):
		c.told = []string{told}
	default:
		return c, fmt.Errorf("no object is ever %q", word)
	}
	return c, nil
}

// takes reports whether a line is chosen.
func (c Choice) takes(l Line) bool {
	if c.remarked && l.Error == "" {
		return false
	}
	return len(c.told) == 0 || slices.Contains(c.told, l.State) || l.Undone && slices.Contains(c.told, undone)
}

// ErrOnlyCounted says that a list lacks the unchanged objects, because the journal does
// not tell which ones they are.
var ErrOnlyCounted = errors.New("unchanged objects are counted in this run and not listed")

// ErrPruned says that a run has no list of objects any more.
var ErrPruned = errors.New("the items of this run were pruned because it is too long ago; only its sums are left")

// lacks reports whether a list lacks objects that were chosen.
func (r Report) lacks(c Choice) bool {
	all := len(c.told) == 0
	return !r.lists.told && r.lists.run.Unchanged > 0 && (all || slices.Contains(c.told, unchanged))
}

// A form is a way to write lists. It writes one list after the other, each between begin
// and end.
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

// formOf finds a form by the name that users give it. clean makes text fit to be shown;
// it is nil where the text must stay what it is.
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
	return nil, fmt.Errorf("there are no lists in the format %q", format)
}

// WriteList writes the chosen objects of the run, in key order. clean is applied to what
// comes from outside where the form has no escapes of its own; nil leaves it as it is.
// The list is written also where an error says that it lacks something: ErrOnlyCounted,
// or a LineBreakError.
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
	if err := f.end(w, Folder{Listed: parts.total(), Parts: parts.list()}); err != nil {
		return err
	}
	return r.incomplete(c, f)
}

// incomplete says what lists lack that were written in some forms.
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
