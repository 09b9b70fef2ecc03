package metadata

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A Table is a file in which the user says what describes which object. Its rows stay in
// the file, and an index of 16 bytes a row finds them, so that a million of them take
// little memory. It may be asked by several goroutines.
//
// A row is for the object of its very key, or else for the one whose key is the same text
// in another Unicode form: programs that write tables change it.
type Table struct {
	name string
	from io.ReaderAt
	size int64
	rows func(io.Reader) rows // below the header
	x    index
	seed maphash.Seed
	file io.Closer
}

// OpenTable opens a table and finds its mistakes, which it tells as a *TableError. The file
// stays open: one that is put in its place later does no harm.
func OpenTable(name string) (*Table, error) {
	open, err := formatOf(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open metadata table: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	var t *Table
	if err == nil {
		t, err = newTable(name, f, info.Size(), open)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.file = f
	return t, nil
}

// A format begins to read a table, and says how to begin at any of its rows.
type format func(io.Reader) (first rows, at func(io.Reader) rows, err error)

func formatOf(name string) (format, error) {
	switch extension := strings.ToLower(filepath.Ext(name)); extension {
	case ".csv":
		return asCSV, nil
	case ".jsonl", ".ndjson":
		return asJSON, nil
	default:
		return nil, &FormatError{name}
	}
}

// A FormatError says that the name of a table does not tell its form.
type FormatError struct{ File string }

func (e *FormatError) Error() string {
	return fmt.Sprintf("metadata table %s is neither .csv nor .jsonl nor .ndjson", e.File)
}

// Hint is what to do next.
func (e *FormatError) Hint() string {
	return "give it the ending that its form has; assetferry help metadata shows both"
}

func asCSV(r io.Reader) (rows, func(io.Reader) rows, error) {
	first, err := openCSV(r)
	if err != nil {
		return nil, nil, err
	}
	return first, func(r io.Reader) rows { return newCSVRows(r, first.columns) }, nil
}

func asJSON(r io.Reader) (rows, func(io.Reader) rows, error) {
	return newJSONRows(r), func(r io.Reader) rows { return newJSONRows(r) }, nil
}

// newTable indexes a table.
func newTable(name string, from io.ReaderAt, size int64, open format) (*Table, error) {
	t := &Table{name: name, from: from, size: size, seed: maphash.MakeSeed()}
	wrong := &TableError{File: name}
	begin, err := t.begin()
	if err == nil {
		var first rows
		first, t.rows, err = open(t.section(begin))
		if err == nil {
			err = t.index(first, begin, wrong)
		} else if errors.Is(err, errLong) {
			err = &Mistake{1, 1, errLong.Error()}
		}
	}
	if err := wrong.note(err); err != nil {
		return nil, fmt.Errorf("read metadata table %s: %w", name, err)
	}
	return t, wrong.verdict()
}

// begin gives where a table begins, after the mark of UTF-8 that some programs write.
func (t *Table) begin() (int64, error) {
	mark := make([]byte, 3)
	n, err := t.from.ReadAt(mark[:min(3, t.size)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	switch mark = mark[:n]; {
	case bytes.Equal(mark, []byte("\xef\xbb\xbf")):
		return 3, nil
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return 0, &Mistake{1, 1, "the table is in UTF-16; save it as UTF-8"}
	}
	return 0, nil
}

func (t *Table) section(at int64) io.Reader { return io.NewSectionReader(t.from, at, t.size-at) }

// index finds where each row begins, and what is wrong with any of them.
func (t *Table) index(all rows, begin int64, wrong *TableError) error {
	for {
		at := begin + all.offset()
		r, err := all.next()
		switch {
		case errors.Is(err, io.EOF):
			return t.sort(wrong)
		case errors.Is(err, errLong): // what follows cannot be understood
			line, err := t.line(at)
			if err != nil {
				return err
			}
			return errors.Join(wrong.note(&Mistake{line, 1, errLong.Error()}), t.sort(wrong))
		case err != nil:
			if err := wrong.note(err); err != nil {
				return err
			}
		default:
			t.x.add(entry{t.hash(r.key), at})
		}
	}
}

func (t *Table) hash(key string) uint64 { return maphash.String(t.seed, norm.NFC.String(key)) }

// sort makes an index ready to be asked, and finds keys that have several rows.
func (t *Table) sort(wrong *TableError) error {
	sort.Sort(&t.x)
	var all twice
	for entries := range t.x.alike {
		first := map[string]int64{}
		for _, e := range entries {
			r, err := t.read(e.at)
			if err != nil {
				return err
			}
			if at, again := first[r.key]; again {
				all.add(pair{at, e.at})
			} else {
				first[r.key] = e.at
			}
		}
	}
	return t.noteTwice(wrong, all)
}

// A pair is where two rows of the same key begin.
type pair struct{ row, again int64 }

// Twice counts the rows of keys that had one before, and keeps those that are told.
type twice struct {
	total int
	first []pair
}

func (w *twice) add(p pair) {
	w.total++
	at, _ := slices.BinarySearchFunc(w.first, p, func(a, b pair) int { return cmp.Compare(a.again, b.again) })
	w.first = slices.Insert(w.first, at, p)
	w.first = w.first[:min(len(w.first), toldMistakes)]
}

// noteTwice takes down which keys have several rows.
func (t *Table) noteTwice(wrong *TableError, all twice) error {
	for _, p := range all.first {
		r, err := t.place(p.row)
		if err != nil {
			return err
		}
		again, err := t.place(p.again)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("the key %q has a row already, in line %d", again.key, r.line)
		if err := wrong.note(&Mistake{again.line, again.column, what}); err != nil {
			return err
		}
	}
	wrong.Total += all.total - len(all.first)
	return nil
}

// place reads a row and says where in the file it is.
func (t *Table) place(at int64) (row, error) {
	r, err := t.read(at)
	if err != nil {
		return row{}, err
	}
	before, err := t.line(at)
	r.line += before - 1
	return r, err
}

// line gives the line that an offset is in.
func (t *Table) line(at int64) (int, error) {
	n, before := 1, io.NewSectionReader(t.from, 0, at)
	for piece := make([]byte, 64<<10); ; {
		read, err := before.Read(piece)
		n += bytes.Count(piece[:read], []byte("\n"))
		if errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// Of gives what the table says of an object; ok is false if it has no row.
func (t *Table) Of(key string) (m Metadata, ok bool, err error) {
	hash := t.hash(key)
	for _, at := range t.x.find(hash) {
		r, err := t.read(at)
		switch {
		case err != nil:
			return Metadata{}, false, err
		case t.hash(r.key) != hash:
			return Metadata{}, false, &ChangedError{t.name}
		case r.key == key:
			return r.metadata, true, nil
		case !ok && norm.NFC.String(r.key) == norm.NFC.String(key):
			m, ok = r.metadata, true
		}
	}
	return m, ok, nil
}

// read reads the row at an offset, which was right before.
func (t *Table) read(at int64) (row, error) {
	r, err := t.rows(t.section(at)).next()
	if _, wrong := errors.AsType[*Mistake](err); wrong || errors.Is(err, io.EOF) || errors.Is(err, errLong) {
		return row{}, &ChangedError{t.name}
	} else if err != nil {
		return row{}, fmt.Errorf("read metadata table %s: %w", t.name, err)
	}
	return r, nil
}

// A ChangedError says that somebody wrote into a table while it was in use, instead of
// putting another file in its place.
type ChangedError struct{ File string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("metadata table %s was written to while it was in use", e.File)
}

// Hint is what to do next.
func (e *ChangedError) Hint() string {
	return "run the same command again once the table is whole; to replace it while it is in use, write another file and rename it"
}

// Rows counts the rows.
func (t *Table) Rows() int { return t.x.Len() }

// Close closes the file.
func (t *Table) Close() error { return t.file.Close() }
