package metadata

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"slices"
	"sort"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/tabular"
)

// A Table is a file in which the user says what describes which object. Its rows stay in
// the file, and an index of 16 bytes a row finds them, so that a million of them take
// little memory. It may be asked by several goroutines.
//
// A row knows its object by the key, by an old address or by the checksum of the content. A
// key is that very text, or else the same text in another Unicode form: programs that
// write tables change it.
type Table struct {
	file  *tabular.File
	read  func(tabular.Row) (row, error)
	known int // the column by which objects are known, in CSV
	terms Terms
	x     index
	seed  maphash.Seed
	met   marks // of the first entry of each row
	rows  int
	wrong *tabular.Mistakes
	asks  bool // for checksums
}

// Terms say what names and addresses in a table mean.
type Terms struct {
	// Word returns the name that a column of another program has with us, or else its own.
	Word func(column string) string
	// Keys returns those from which an old address may have been built, the likeliest first.
	Keys func(address string) []string
	// Same returns an address in a form that is the same however it is spelled, empty if it
	// is none.
	Same func(address string) string
}

// By is what a row knows its object by.
type by string

const (
	byKey      by = "key"
	byAddress  by = "address"
	byChecksum by = "sha256"
)

// A row of a table says what describes one object.
type row struct {
	by     by
	known  string // the key, the address in its comparable form, or the checksum
	keys   []string
	fields Fields
}

// names are all under which a row is found, the first of which is its own.
func (r row) names() []string {
	names := []string{name(r.by, r.known)}
	for _, key := range r.keys {
		names = append(names, name(byKey, key))
	}
	return names
}

func name(by by, known string) string { return string(by) + ":" + norm.NFC.String(known) }

// use is what a table is for.
func use() tabular.Use {
	return tabular.Use{Kind: "metadata table", Topic: "metadata", Example: `{"key": "a.jpg", "description": "A quay"}`}
}

// OpenTable opens a table. One that says nothing but mistakes is a *rows.Mistakes; others
// leave the rows out that are wrong, see [Table.Mistakes]. The file stays open: one that
// is put in its place later does no harm.
func OpenTable(name string, terms Terms) (*Table, error) {
	file, err := tabular.Open(name, use())
	if err != nil {
		return nil, err
	}
	t, err := newTable(file, terms)
	if err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	return t, nil
}

// newTable indexes a table.
func newTable(file *tabular.File, terms Terms) (*Table, error) {
	t := &Table{file: file, terms: terms, seed: maphash.MakeSeed(), wrong: file.Mistakes()}
	t.read = t.fromJSON
	if file.Columns() != nil {
		c, err := t.columnsOf(file)
		if err := t.wrong.Note(err); err != nil {
			return nil, err
		}
		if err := t.wrong.Verdict(); err != nil { // the rows mean nothing
			return nil, err
		}
		t.known = c.known
		t.read = func(from tabular.Row) (row, error) { return t.fromCSV(c, from) }
	}
	err := file.Each(t.wrong, func(at int64, from tabular.Row) error {
		r, err := t.read(from)
		if err == nil {
			t.add(r, at)
		}
		return err
	})
	if err == nil {
		err = t.sort()
	}
	if err == nil && t.rows == 0 {
		err = t.wrong.Verdict()
	}
	return t, err
}

func (t *Table) add(r row, at int64) {
	t.rows++
	t.asks = t.asks || r.by == byChecksum
	for n, name := range r.names() {
		t.x.add(newEntry(t.hash(name), at, n > 0))
	}
}

func (t *Table) hash(name string) uint64 { return maphash.String(t.seed, name) }

// sort makes an index ready to be asked, and finds objects that have several rows. The
// first one of them counts.
func (t *Table) sort() error {
	sort.Sort(&t.x)
	t.met = newMarks(t.x.Len())
	var all twice
	for begin, entries := range t.x.alike {
		first := map[string]int64{}
		for n, e := range entries {
			if e.isAlso() {
				continue
			}
			r, err := t.row(e.at())
			if err != nil {
				return err
			}
			own := string(r.by) + ":" + r.known
			if at, again := first[own]; again {
				all.add(pair{at, e.at()})
				t.met.set(begin + n)
				t.rows--
			} else {
				first[own] = e.at()
			}
		}
	}
	return t.noteTwice(all)
}

// A pair is where two rows of the same object begin.
type pair struct{ row, again int64 }

// Twice counts the rows of objects that had one before, and keeps those that are told.
type twice struct {
	total int
	first []pair
}

func (w *twice) add(p pair) {
	w.total++
	at, _ := slices.BinarySearchFunc(w.first, p, func(a, b pair) int { return cmp.Compare(a.again, b.again) })
	w.first = slices.Insert(w.first, at, p)
	w.first = w.first[:min(len(w.first), tabular.MaxReported)]
}

// noteTwice takes down which objects have several rows.
func (t *Table) noteTwice(all twice) error {
	for _, p := range all.first {
		_, line, _, err := t.place(p.row)
		if err != nil {
			return err
		}
		again, againLine, column, err := t.place(p.again)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("the %s %q has a row already, in line %d", again.by, again.known, line)
		if err := t.wrong.Note(&tabular.Mistake{Line: againLine, Column: column, What: what}); err != nil {
			return err
		}
	}
	t.wrong.Total += all.total - len(all.first)
	return nil
}

// place reads a row and says where in the file it names its object.
func (t *Table) place(at int64) (r row, line, column int, err error) {
	from, err := t.file.Place(at)
	if err != nil {
		return row{}, 0, 0, err
	}
	if r, err = t.read(from); err != nil {
		return row{}, 0, 0, t.file.Changed()
	}
	line, column = from.Where(t.known)
	return r, line, column, nil
}

// An Identity is all by which a table may know an object.
type Identity struct {
	Key       string
	Checksum  []byte   // SHA-256 of its content; nil where that is not known yet
	Addresses []string // that were given as old ones of it, whatever they are built from
}

// AsksForChecksums reports whether objects are known by their checksums.
func (t *Table) AsksForChecksums() bool { return t.asks }

// Describe returns what the table says of an object; ok is false if it has no row.
func (t *Table) Describe(o Identity) (f Fields, ok bool, err error) {
	names := []string{name(byKey, o.Key)}
	for _, address := range o.Addresses {
		if same := t.terms.Same(address); same != "" {
			names = append(names, name(byAddress, same))
		}
	}
	if o.Checksum != nil {
		names = append(names, name(byChecksum, hex.EncodeToString(o.Checksum)))
	}
	for _, name := range names {
		found, err := t.find(name, o.Key)
		if err != nil || found != nil {
			return found.fieldsOr(), found != nil, err
		}
	}
	return nil, false, nil
}

func (r *row) fieldsOr() Fields {
	if r == nil {
		return nil
	}
	return r.fields
}

// find returns the row that is known by a name, nil if there is none: that of the very key
// before others, and those that name it before those from whose addresses it follows.
func (t *Table) find(name, key string) (best *row, err error) {
	rank := func(r *row) int {
		switch {
		case r == nil:
			return 0
		case r.by == byAddress:
			return 1
		case r.by == byKey && r.known != key:
			return 2
		}
		return 3
	}
	bestAt := int64(0)
	_, entries := t.x.named(t.hash(name))
	for _, e := range entries {
		r, err := t.row(e.at())
		if err != nil {
			return nil, err
		}
		names := r.names()
		if !slices.ContainsFunc(names, func(n string) bool { return t.hash(n) == t.hash(name) }) {
			return nil, t.file.Changed()
		}
		if slices.Contains(names, name) && rank(&r) > rank(best) {
			best, bestAt = &r, e.at()
		}
	}
	if best != nil {
		t.meet(*best, bestAt)
	}
	return best, nil
}

// meet notes that there is an object which a row is for.
func (t *Table) meet(r row, at int64) {
	begin, entries := t.x.named(t.hash(r.names()[0]))
	for n, e := range entries {
		if e.at() == at && !e.isAlso() {
			t.met.set(begin + n)
		}
	}
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

// A Lost row is for an object that nobody asked for.
type Lost struct {
	Line  int
	Known string // what it knows its object by
}

// Lost counts the rows for which no object was asked so far, and gives the first of them.
func (t *Table) Lost(most int) (total int, first []Lost, err error) {
	var begins []int64
	for n := range t.x.Len() {
		if e := t.x.at(n); !e.isAlso() && !t.met.has(n) {
			total++
			at, _ := slices.BinarySearch(begins, e.at())
			if begins = slices.Insert(begins, at, e.at()); len(begins) > most {
				begins = begins[:most]
			}
		}
	}
	for _, at := range begins {
		r, line, _, err := t.place(at)
		if err != nil {
			return 0, nil, err
		}
		first = append(first, Lost{line, r.known})
	}
	return total, first, nil
}

// Rows counts the rows that describe something.
func (t *Table) Rows() int { return t.rows }

// Mistakes are what is wrong with rows that were left out, nil if nothing is.
func (t *Table) Mistakes() *tabular.Mistakes {
	if t.wrong.Total == 0 {
		return nil
	}
	return t.wrong
}

// Close closes the file.
func (t *Table) Close() error { return t.file.Close() }
