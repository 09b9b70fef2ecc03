package metadata

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"sort"
	"strings"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/rows"
)

// A Table is a file in which the user says what describes which object. Its rows stay in
// the file, and an index of 16 bytes a row finds them, so that a million of them take
// little memory. It may be asked by several goroutines.
//
// A row is for the object of its very key, or else for the one whose key is the same text
// in another Unicode form: programs that write tables change it.
type Table struct {
	file *rows.File
	read func(rows.Row) (row, error)
	key  int // the column, in CSV
	x    index
	seed maphash.Seed
}

// A row of a table says what describes one object.
type row struct {
	key      string
	metadata Metadata
}

// use is what a table is for.
func use() rows.Use {
	return rows.Use{Kind: "metadata table", Topic: "metadata", Example: `{"key": "a.jpg", "description": "A quay"}`}
}

// OpenTable opens a table and finds its mistakes, which it tells as *rows.Mistakes. The
// file stays open: one that is put in its place later does no harm.
//
// The word of a column is the name that it has with us; nil is for tables in our own form.
func OpenTable(name string, word func(column string) string) (*Table, error) {
	file, err := rows.Open(name, use())
	if err != nil {
		return nil, err
	}
	t, err := newTable(file, word)
	if err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	return t, nil
}

// newTable indexes a table.
func newTable(file *rows.File, word func(string) string) (*Table, error) {
	t := &Table{file: file, read: fromJSON, seed: maphash.MakeSeed()}
	wrong := file.Mistakes()
	if file.Columns() != nil {
		c, err := columnsOf(file, word)
		if err := wrong.Note(err); err != nil {
			return nil, err
		}
		if err := wrong.Verdict(); err != nil { // the rows mean nothing
			return nil, err
		}
		t.read, t.key = c.row, c.key
	}
	err := file.Each(wrong, func(at int64, from rows.Row) error {
		r, err := t.read(from)
		if err == nil {
			t.x.add(entry{t.hash(r.key), at})
		}
		return err
	})
	if err == nil {
		err = t.sort(wrong)
	}
	if err != nil {
		return nil, err
	}
	return t, wrong.Verdict()
}

func (t *Table) hash(key string) uint64 { return maphash.String(t.seed, norm.NFC.String(key)) }

// sort makes an index ready to be asked, and finds keys that have several rows.
func (t *Table) sort(wrong *rows.Mistakes) error {
	sort.Sort(&t.x)
	var all twice
	for entries := range t.x.alike {
		first := map[string]int64{}
		for _, e := range entries {
			r, err := t.row(e.at)
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
	w.first = w.first[:min(len(w.first), rows.MaxTold)]
}

// noteTwice takes down which keys have several rows.
func (t *Table) noteTwice(wrong *rows.Mistakes, all twice) error {
	for _, p := range all.first {
		_, line, _, err := t.place(p.row)
		if err != nil {
			return err
		}
		again, againLine, column, err := t.place(p.again)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("the key %q has a row already, in line %d", again.key, line)
		if err := wrong.Note(&rows.Mistake{Line: againLine, Column: column, What: what}); err != nil {
			return err
		}
	}
	wrong.Total += all.total - len(all.first)
	return nil
}

// place reads a row and says where in the file its key is.
func (t *Table) place(at int64) (r row, line, column int, err error) {
	from, err := t.file.Place(at)
	if err != nil {
		return row{}, 0, 0, err
	}
	if r, err = t.read(from); err != nil {
		return row{}, 0, 0, t.file.Changed()
	}
	line, column = from.Where(t.key)
	return r, line, column, nil
}

// Of gives what the table says of an object; ok is false if it has no row.
func (t *Table) Of(key string) (m Metadata, ok bool, err error) {
	hash := t.hash(key)
	for _, at := range t.x.find(hash) {
		r, err := t.row(at)
		switch {
		case err != nil:
			return Metadata{}, false, err
		case t.hash(r.key) != hash:
			return Metadata{}, false, t.file.Changed()
		case r.key == key:
			return r.metadata, true, nil
		case !ok && norm.NFC.String(r.key) == norm.NFC.String(key):
			m, ok = r.metadata, true
		}
	}
	return m, ok, nil
}

// row reads the row at an offset, which was right before.
func (t *Table) row(at int64) (row, error) {
	from, err := t.file.At(at)
	if err != nil {
		return row{}, err
	}
	r, err := t.read(from)
	if err != nil {
		return row{}, t.file.Changed()
	}
	return r, nil
}

// Rows counts the rows.
func (t *Table) Rows() int { return t.x.Len() }

// Close closes the file.
func (t *Table) Close() error { return t.file.Close() }

const noKey = "the row has no key"

// rowKey gives the key that somebody wrote, maybe as a path.
func rowKey(written string) string { return strings.TrimPrefix(strings.TrimPrefix(written, "./"), "/") }

// wrongAttribute says why something cannot be the name of a custom attribute, or nothing.
func wrongAttribute(name string) string {
	switch name {
	case "":
		return "an attribute, or a column, has no name"
	case Provenance:
		return fmt.Sprintf("the attribute %s is assetferry's own", name)
	}
	return ""
}
