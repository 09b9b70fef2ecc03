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

// A Table is a file of the user with metadata of objects. Rows stay in the file, and an index finds them
// with 16 bytes of memory per row. It may be used by several goroutines.
//
// A row identifies its object by the key, by an old URL or by the checksum of the content. Keys match
// exactly, or else in another Unicode form, because programs that write tables change it.
//
// A table of collections has a row for each membership of an object, see [OpenCollections].
type Table struct {
	file  *tabular.File
	read  func(tabular.Row) (row, error)
	known int // the column that identifies objects, in CSV
	terms Terms
	x     index
	seed  maphash.Seed
	met   marks // rows with an object, by their first entry
	rows  int
	wrong *tabular.Mistakes
	asks  bool // some rows have checksums

	collections bool     // a table of collections
	counted     *counted // memberships of the objects that were looked up
}

// Terms interpret names and URLs in a table.
type Terms struct {
	// Word returns our name for a column of another program, or the column.
	Word func(column string) string
	// Keys returns the possible keys of an old URL, the most likely first.
	Keys func(url string) []string
	// Same returns the same text for all spellings of a URL, or "" if it is not a URL.
	Same func(url string) string
}

// by is the column that identifies the object of a row.
type by string

const (
	byKey      by = "key"
	byOldURL   by = "old_url"
	byChecksum by = "sha256"
)

// A row of a table has the metadata of one object.
type row struct {
	by     by
	known  string // the key, the comparable URL, or the checksum
	keys   []string
	fields Fields
}

// names returns all names by which a row is found. The first is its own; the others are possible keys.
func (r row) names() []string {
	names := []string{name(r.by, r.known)}
	for _, key := range r.keys {
		names = append(names, name(byKey, key))
	}
	return names
}

func name(by by, known string) string { return string(by) + ":" + norm.NFC.String(known) }

// use describes a table for error messages.
func use() tabular.Use {
	return tabular.Use{Kind: "metadata table", Topic: "metadata", Example: `{"key": "a.jpg", "description": "A quay"}`}
}

// OpenTable opens a table of metadata. If no row is valid, the error is a *tabular.Mistakes. Otherwise invalid
// rows are skipped, see [Table.Mistakes]. The file stays open, so it may be replaced by rename.
func OpenTable(name string, terms Terms) (*Table, error) { return openTable(name, use(), terms, false) }

// OpenCollections opens a table of collections: each row has an object and the name of a collection.
// Rows may be in any order. Other columns are ignored.
func OpenCollections(name string, terms Terms) (*Table, error) {
	u := tabular.Use{Kind: "table of collections", Topic: "metadata", Example: `{"key": "a.jpg", "collection": "Harbour"}`}
	return openTable(name, u, terms, true)
}

func openTable(name string, u tabular.Use, terms Terms, collections bool) (*Table, error) {
	file, err := tabular.Open(name, u)
	if err != nil {
		return nil, err
	}
	t, err := newTable(file, terms, collections)
	if err != nil {
		_ = file.Close() // opened for reading only
		return nil, err
	}
	return t, nil
}

// newTable indexes a table.
func newTable(file *tabular.File, terms Terms, collections bool) (*Table, error) {
	t := &Table{file: file, terms: terms, seed: maphash.MakeSeed(), wrong: file.Mistakes(), collections: collections, counted: new(counted)}
	t.read = t.fromJSON
	if file.Columns() != nil {
		c, err := t.columnsOf(file)
		if err := t.wrong.Note(err); err != nil {
			return nil, err
		}
		if err := t.wrong.Verdict(); err != nil { // no row is valid
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

// sort prepares the index for lookups, and finds objects with several rows of metadata, of which the
// first counts.
func (t *Table) sort() error {
	sort.Sort(&t.x)
	t.met = newMarks(t.x.Len())
	if t.collections {
		return nil
	}
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

// A pair has the offsets of two rows of the same object.
type pair struct{ row, again int64 }

// twice counts the rows of objects with an earlier row, and keeps those to report.
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

// noteTwice records the objects with several rows.
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
		what := fmt.Sprintf("the %s %q already has a row in line %d", again.by, again.known, line)
		if err := t.wrong.Note(&tabular.Mistake{Line: againLine, Column: column, What: what}); err != nil {
			return err
		}
	}
	t.wrong.Total += all.total - len(all.first)
	return nil
}

// place reads a row, and returns the line and column of the name of its object.
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

// An Identity is everything by which a table may identify an object.
type Identity struct {
	Key      string
	Checksum []byte   // SHA-256 of its content; nil if unknown
	OldURLs  []string // given old URLs
}

// AsksForChecksums reports whether some rows identify objects by checksum.
func (t *Table) AsksForChecksums() bool { return t.asks }

// Describe returns the metadata of an object; ok is false if it has no row.
func (t *Table) Describe(o Identity) (f Fields, ok bool, err error) {
	names := []string{name(byKey, o.Key)}
	for _, url := range o.OldURLs {
		if same := t.terms.Same(url); same != "" {
			names = append(names, name(byOldURL, same))
		}
	}
	if o.Checksum != nil {
		names = append(names, name(byChecksum, hex.EncodeToString(o.Checksum)))
	}
	first := false // the object is looked up for the first time
	for _, name := range names {
		found, err := t.find(name, o.Key)
		if err != nil {
			return nil, false, err
		}
		if found == nil {
			continue
		}
		first = t.meet(found) || first
		f, ok = t.plus(f, found), true
		if !t.collections { // else it may have rows by other names
			break
		}
	}
	if first {
		t.counted.add(f[Collections], t.hash)
	}
	return f, ok, nil
}

// plus returns fields with those of rows. Only a table of collections has several rows of an object.
func (t *Table) plus(f Fields, rows []foundRow) Fields {
	if !t.collections {
		return rows[0].fields
	}
	all := f[Collections]
	for _, r := range rows {
		all = append(all, r.fields[Collections]...)
	}
	return Fields{Collections: sortedNames(all)}
}

// A foundRow is a row, and its offset.
type foundRow struct {
	row
	at int64
}

// rank is the order of rows with one name. A row with the same Unicode form of the key comes first, and
// a row that names the key comes before a row whose URL may have the key.
func (r row) rank(key string) int {
	switch {
	case r.by == byOldURL:
		return 1
	case r.by == byKey && r.known != key:
		return 2
	}
	return 3
}

// find returns the rows of a name with the highest rank: one, or several in a table of collections.
func (t *Table) find(name, key string) (best []foundRow, err error) {
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
		if !slices.Contains(names, name) {
			continue
		}
		switch found := (foundRow{r, e.at()}); {
		case len(best) == 0 || r.rank(key) > best[0].rank(key):
			best = []foundRow{found}
		case t.collections && r.rank(key) == best[0].rank(key):
			best = append(best, found)
		}
	}
	return best, nil
}

// meet records that the object of rows exists, and reports whether this is new.
func (t *Table) meet(rows []foundRow) (first bool) {
	begin, entries := t.x.named(t.hash(rows[0].names()[0]))
	for n, e := range entries {
		if !e.isAlso() && slices.ContainsFunc(rows, func(r foundRow) bool { return r.at == e.at() }) {
			first = t.met.set(begin+n) || first
		}
	}
	return first
}

// row reads the row at an offset, which was valid before.
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

// A Lost row is a row whose object was not looked up.
type Lost struct {
	Line  int
	Known string // the name of its object
}

// Lost returns the number of rows whose object was not looked up so far, and the first of them. has
// selects them by the keys of their objects, and omits rows without one; nil: all.
func (t *Table) Lost(most int, has func(name string) bool) (total int, first []Lost, err error) {
	var begins []int64
	for n := range t.x.Len() {
		if e := t.x.at(n); !e.isAlso() && !t.met.has(n) {
			begins = append(begins, e.at())
		}
	}
	slices.Sort(begins)
	for _, at := range begins {
		if has != nil {
			if r, err := t.row(at); err != nil {
				return 0, nil, err
			} else if r.by != byKey || !has(r.known) {
				continue
			}
		}
		if total++; len(first) >= most {
			continue
		}
		r, line, _, err := t.place(at) // it reads the file from its beginning
		if err != nil {
			return 0, nil, err
		}
		first = append(first, Lost{line, r.known})
	}
	return total, first, nil
}

// Rows returns the number of valid rows.
func (t *Table) Rows() int { return t.rows }

// Mistakes returns the mistakes of skipped rows, or nil.
func (t *Table) Mistakes() *tabular.Mistakes {
	if t.wrong.Total == 0 {
		return nil
	}
	return t.wrong
}

// Close closes the file.
func (t *Table) Close() error { return t.file.Close() }
