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

// A File is an approved plan that was read to its end and is as it was written.
type File struct {
	Hash  string
	Head  migrate.PlanHead
	Noted Noted
	// Actions has an amount for each action of an item.
	Actions map[state.Action]Amount
	// Unsupported counts the objects that no category allows, if the rules forbid to
	// carry out a plan that has some.
	Unsupported int64

	name  string
	from  io.ReaderAt
	close func() error
}

// IsPlan reports whether a file begins as a plan does. An empty one does, too: nothing is
// lost with it.
func IsPlan(r io.Reader) (bool, error) {
	head := make([]byte, len(begin))
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n == 0 || string(head) == begin, err
}

// begin is what Write begins with.
const begin = `{"type":"` + kind + `"`

// An Error says what is wrong with a file, and in which line if one can be named.
type Error struct {
	Name string
	Line int // 0 if it is the file as a whole
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s, line %d: %v", e.Name, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint is the next step.
func (e *Error) Hint() string {
	switch {
	case errors.Is(e, ErrNoFile), errors.Is(e, ErrNoPlan):
		return "write a plan into a file: assetferry plan SOURCE --output FILE"
	case errors.Is(e, ErrVersion):
		return "use the version that wrote it, or plan again"
	case errors.Is(e, ErrChanged):
		return "get the file again from whoever approved it, or plan again"
	}
	return ""
}

// What may be wrong with a file.
var (
	ErrNoFile  = errors.New("a plan is read more than once, and so must be a regular file")
	ErrNoPlan  = errors.New("this is not a plan that plan --output wrote")
	ErrVersion = errors.New("another version of assetferry wrote this plan")
	ErrChanged = errors.New("the plan is not as it was written")
)

// Open opens a file and reads it through. What was changed since it was written is
// refused with an Error.
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

// Items reads the items, in key order. It ends with an Error if the file is not the
// one any more that was opened.
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

// reader begins at the top of the file.
func (f *File) reader() *reader {
	lines := bufio.NewScanner(io.NewSectionReader(f.from, 0, math.MaxInt64))
	lines.Buffer(nil, mostBytes)
	return &reader{name: f.name, lines: lines}
}

// fail names the line that was read last.
func (r *reader) fail(err error) error { return &Error{r.name, r.n, err} }

// header reads the first line. Only one that begins as ours do is taken for a plan at
// all.
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
		return h, r.fail(fmt.Errorf("%w: its format is %d, that of this one %d", ErrVersion, what.Version, version))
	}
	return h, r.decode(&h)
}

// next goes to the next line; io.EOF if there is none.
func (r *reader) next() error {
	r.n++
	if r.lines.Scan() {
		return nil
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return r.fail(fmt.Errorf("%w: the line is longer than any that is written", ErrChanged))
	case err != nil:
		return &Error{r.name, 0, err}
	}
	return io.EOF
}

// decode reads the line into a struct.
func (r *reader) decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(r.lines.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return r.fail(fmt.Errorf("%w: %w", ErrChanged, readable(err)))
	}
	if _, err := d.Token(); err != io.EOF {
		return r.fail(fmt.Errorf("%w: there is more on the line than one object", ErrChanged))
	}
	return r.asWritten(into)
}

// asWritten makes sure that a line is byte by byte as it is written. The hash covers what is
// read from it, and people may read something else: a key that is there twice, for one.
func (r *reader) asWritten(value any) error {
	var again bytes.Buffer
	lines := json.NewEncoder(&again)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(value); err != nil {
		return r.fail(err)
	}
	// Globs need not be valid UTF-8, and what stands for the rest is escaped only once.
	plain := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`\ufffd`), []byte("\ufffd")) }
	if !bytes.Equal(plain(bytes.TrimSuffix(again.Bytes(), []byte("\n"))), plain(r.lines.Bytes())) {
		return r.fail(fmt.Errorf("%w: the line is spelled in another way", ErrChanged))
	}
	return nil
}

// readable tells of JSON, not of Go, what is wrong.
func readable(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%q cannot be a %s", e.Field, e.Value)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line is not complete")
	}
	return err
}

// items reads the other lines and holds all of them against the header.
func (r *reader) items(h header) iter.Seq2[state.Item, error] {
	return func(yield func(state.Item, error) bool) {
		hash, err := migrate.NewPlanHash(h.head())
		if err != nil {
			yield(state.Item{}, r.fail(err))
			return
		}
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
			hash.Add(i)
			last = string(i.Key)
			if !yield(i, nil) {
				return
			}
		}
		if err := h.agrees(seen, hash.Sum()); err != nil {
			yield(state.Item{}, &Error{r.name, 0, err})
		}
	}
}

// item reads an item, whose key must come after that of the one before.
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
		return i, r.fail(fmt.Errorf("%w: this is no item of a plan", ErrChanged))
	case string(l.Key) <= last:
		return i, r.fail(fmt.Errorf("%w: its key does not come after that of the line before", ErrChanged))
	}
	return l.item(), nil
}

func actions() []state.Action {
	return []state.Action{state.Create, state.Adopt, state.Replace, state.UpdateMetadata, state.Move, state.Trash,
		state.Unchanged, state.Skip, state.Conflict}
}

// agrees compares what was read with what the header says of it.
func (h *header) agrees(seen header, hash string) error {
	switch {
	case seen.Items < h.Items:
		return fmt.Errorf("%w: it ends after %d of %d items", ErrChanged, seen.Items, h.Items)
	case seen.Items > h.Items:
		return fmt.Errorf("%w: it has %d items, and its header says %d", ErrChanged, seen.Items, h.Items)
	case hash != h.Hash:
		return fmt.Errorf("%w: its content does not match the hash in its header", ErrChanged) // which nobody should copy from here
	case !maps.Equal(seen.Actions, h.Actions):
		return fmt.Errorf("%w: its header has other sums of its actions than its items", ErrChanged)
	}
	return nil
}
