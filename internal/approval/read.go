package approval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"slices"

	"assetferry/migrate"
	"assetferry/state"
)

// A File is a plan file that was read completely and is unchanged.
type File struct {
	Hash  string
	Head  migrate.PlanHead
	Noted Noted
	// Actions has the amounts by action.
	Actions map[state.Action]Amount
	// Unsupported is the number of objects with an unsupported type, if the rules do not allow a plan
	// with such objects to be applied.
	Unsupported int64

	name  string
	from  io.ReaderAt
	close func() error
}

// IsPlan reports whether a file begins like a plan. An empty file counts, since it may be overwritten
// without a loss.
func IsPlan(r io.Reader) (bool, error) {
	head := make([]byte, len(begin))
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n == 0 || string(head) == begin, err
}

// begin is the start of every plan file.
const begin = `{"type":"` + kind + `"`

// An Error is a defect of a file, with its line if there is one.
type Error struct {
	Name string
	Line int // 0: the whole file
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s, line %d: %v", e.Name, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *Error) Hint() string {
	switch {
	case errors.Is(e, ErrNoFile), errors.Is(e, ErrNoPlan):
		return "write a plan to a file:\n  assetferry plan SOURCE --output FILE"
	case errors.Is(e, ErrVersion):
		return "use the version of assetferry that wrote the file, or write a new plan"
	case errors.Is(e, ErrChanged):
		return "get the file again from the approver, or write a new plan"
	}
	return ""
}

// Defects of a file.
var (
	ErrNoFile  = errors.New("a plan must be a regular file, because it is read more than once")
	ErrNoPlan  = errors.New("this is not a plan of plan --output")
	ErrVersion = errors.New("another version of assetferry wrote this plan")
	ErrChanged = errors.New("the plan was changed after it was written")
)

// Open opens a file and reads all of it. A file that was changed since it was written is an Error.
func Open(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open plan: %w", err)
	}
	file, err := readFile(f, name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file.close = f.Close
	return file, nil
}

func readFile(f *os.File, name string) (*File, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("open plan: %w", err)
	case !info.Mode().IsRegular():
		return nil, &Error{name, 0, ErrNoFile}
	}
	return read(f, name)
}

func read(from io.ReaderAt, name string) (*File, error) {
	f := &File{name: name, from: from}
	r := f.reader()
	h, err := r.header()
	if err != nil {
		return nil, err
	}
	f.Hash, f.Head, f.Noted, f.Actions = h.Hash, h.head(), h.Noted, h.Actions
	for i, err := range r.items(h) {
		if err != nil {
			return nil, err
		}
		if i.Reason == string(migrate.ReasonUnsupportedType) && h.Rules.StopsAtUnsupported() {
			f.Unsupported++
		}
	}
	return f, nil
}

// Items reads the items in key order. It ends with an Error if the file was replaced since Open.
func (f *File) Items() iter.Seq2[state.Item, error] {
	return func(yield func(state.Item, error) bool) {
		r := f.reader()
		h, err := r.header()
		if err == nil && h.Hash != f.Hash {
			err = r.fail(ErrChanged)
		}
		if err != nil {
			yield(state.Item{}, err)
			return
		}
		r.items(h)(yield)
	}
}

// Close closes the file.
func (f *File) Close() error { return f.close() }

// A reader reads a file line by line.
type reader struct {
	name  string
	lines *bufio.Scanner
	n     int // lines so far
}

// reader starts at the beginning of the file.
func (f *File) reader() *reader {
	lines := bufio.NewScanner(io.NewSectionReader(f.from, 0, math.MaxInt64))
	lines.Buffer(nil, mostBytes)
	return &reader{name: f.name, lines: lines}
}

// fail returns an Error at the last line.
func (r *reader) fail(err error) error { return &Error{r.name, r.n, err} }

// header reads the first line. A file with another beginning is not a plan.
func (r *reader) header() (h header, err error) {
	var what struct {
		Type    string `json:"type"`
		Version int    `json:"version"`
	}
	switch err := r.next(); {
	case err != nil && err != io.EOF && !errors.Is(err, ErrChanged):
		return h, err
	case err != nil, json.Unmarshal(r.lines.Bytes(), &what) != nil, what.Type != kind:
		return h, &Error{r.name, 0, ErrNoPlan}
	case what.Version != version:
		return h, r.fail(fmt.Errorf("%w: its format is %d, this version reads %d", ErrVersion, what.Version, version))
	}
	return h, r.decode(&h)
}

// next reads the next line. It returns io.EOF if there is none.
func (r *reader) next() error {
	r.n++
	if r.lines.Scan() {
		return nil
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return r.fail(fmt.Errorf("%w: the line is too long", ErrChanged))
	case err != nil:
		return &Error{r.name, 0, err}
	}
	return io.EOF
}

// decode decodes the line into a struct.
func (r *reader) decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(r.lines.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return r.fail(fmt.Errorf("%w: %w", ErrChanged, readable(err)))
	}
	if _, err := d.Token(); err != io.EOF {
		return r.fail(fmt.Errorf("%w: the line has more than one object", ErrChanged))
	}
	return r.asWritten(into)
}

// asWritten compares a line byte by byte with its canonical form. The hash covers only the decoded
// values, and people may read something else, such as a duplicate key.
func (r *reader) asWritten(value any) error {
	var again bytes.Buffer
	lines := json.NewEncoder(&again)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(value); err != nil {
		return r.fail(err)
	}
	// Globs need not be valid UTF-8. The replacement character is escaped in one of the two only.
	plain := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`\ufffd`), []byte("\ufffd")) }
	if !bytes.Equal(plain(bytes.TrimSuffix(again.Bytes(), []byte("\n"))), plain(r.lines.Bytes())) {
		return r.fail(fmt.Errorf("%w: the line has another spelling", ErrChanged))
	}
	return nil
}

// readable describes a decoding error in terms of JSON, not of Go.
func readable(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%q cannot be a %s", e.Field, e.Value)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line is not complete")
	}
	return err
}

// items reads the other lines and compares them with the header.
func (r *reader) items(h header) iter.Seq2[state.Item, error] {
	return func(yield func(state.Item, error) bool) {
		hash := migrate.NewPlanHash()
		seen := header{Actions: map[state.Action]Amount{}}
		for last := ""; ; {
			i, err := r.item(last)
			if err == io.EOF {
				break
			}
			if err != nil {
				yield(state.Item{}, err)
				return
			}
			seen.count(i.Action, 1, i.Size)
			hash.Add(&i)
			last = string(i.Key)
			if !yield(i, nil) {
				return
			}
		}
		sum, err := hash.Sum(h.head())
		if err == nil {
			err = h.agrees(seen, sum)
		}
		if err != nil {
			yield(state.Item{}, &Error{r.name, 0, err})
		}
	}
}

// item reads an item. Its key must follow the previous one.
func (r *reader) item(last string) (i state.Item, err error) {
	if err := r.next(); err != nil {
		return i, err
	}
	var l line
	if err := r.decode(&l); err != nil {
		return i, err
	}
	switch {
	case l.Key == "", l.Reason == "", l.Size < 0, !slices.Contains(actions(), l.Action):
		return i, r.fail(fmt.Errorf("%w: the line is not an item of a plan", ErrChanged))
	case string(l.Key) <= last:
		return i, r.fail(fmt.Errorf("%w: the keys are not in order", ErrChanged))
	}
	return l.item(), nil
}

func actions() []state.Action {
	return []state.Action{state.Create, state.Adopt, state.Replace, state.UpdateMetadata, state.Move, state.Trash,
		state.Unchanged, state.Skip, state.Conflict}
}

// agrees compares the items with the header.
func (h *header) agrees(seen header, hash string) error {
	switch {
	case seen.Items < h.Items:
		return fmt.Errorf("%w: it ends after %d of %d items", ErrChanged, seen.Items, h.Items)
	case seen.Items > h.Items:
		return fmt.Errorf("%w: it has %d items, but its header has %d", ErrChanged, seen.Items, h.Items)
	case hash != h.Hash:
		return fmt.Errorf("%w: its content does not match the hash in its header", ErrChanged) // without the actual hash, which must not be copied
	case !maps.Equal(seen.Actions, h.Actions):
		return fmt.Errorf("%w: the totals in its header do not match its items", ErrChanged)
	}
	return nil
}
