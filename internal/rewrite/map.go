package rewrite

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
)

// A Row is an old URL with its new URL.
type Row struct {
	Old string
	New string // the URL of the asset
}

// A Map is a Lookup with its rows in a temporary file. Its index takes 25 bytes of memory per row.
type Map struct {
	file   *os.File
	size   int64
	seed   maphash.Seed
	rows   []entry // by hash of their old URLs
	by     shelves
	old    []string
	assets *Assets
	recent [recent]answer
	buffer []byte
}

type entry struct {
	hash uint64
	at   int64
}

// recent is the number of cached answers: URLs repeat soon or not at all.
const recent = 4096

type answer struct {
	url string
	Verdict
}

// A RowError is an invalid row.
type RowError struct {
	Row int // from 1
	URL string
	Msg string
}

func (e *RowError) Error() string { return fmt.Sprintf("%q %s", e.URL, e.Msg) }

// NewMap returns a Map of rows. An invalid row is a *RowError.
func NewMap(rows iter.Seq2[Row, error]) (*Map, error) {
	f, err := os.CreateTemp("", "assetferry-map-*")
	if err != nil {
		return nil, fmt.Errorf("create temporary map: %w", err)
	}
	_ = os.Remove(f.Name()) // now, so that it is deleted with the process; some systems need it closed first
	m := &Map{file: f, seed: maphash.MakeSeed(), assets: NewAssets()}
	if err = m.take(rows); err == nil {
		err = m.checkContradictions()
	}
	if err == nil {
		err = m.checkCircles()
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close deletes the temporary file.
func (m *Map) Close() error {
	err := m.file.Close()
	if rerr := os.Remove(m.file.Name()); !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// Old returns the beginnings of old URLs.
func (m *Map) Old() []string { return m.old }

// Assets returns the targets of the rows, with those that texts mention.
func (m *Map) Assets() *Assets { return m.assets }

// take reads all rows.
func (m *Map) take(rows iter.Seq2[Row, error]) error {
	w := bufio.NewWriterSize(m.file, 64<<10)
	common := beginnings{}
	n := 0
	for r, err := range rows {
		if err != nil {
			return err
		}
		n++
		old := Canonical(r.Old)
		switch {
		case old == "":
			return &RowError{n, r.Old, "is not a URL: it must begin with https://, http:// or a slash"}
		case !common.add(old):
			return &RowError{n, r.Old, "has no host, folder or extension, and cannot be distinguished from other text"}
		}
		if err := m.assets.Add(r.New); err != nil {
			return &RowError{n, r.New, err.Error()}
		}
		m.rows = append(m.rows, entry{maphash.String(m.seed, old), m.size})
		b := appendText(appendText(nil, r.Old), r.New)
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write temporary map: %w", err)
		}
		m.size += int64(len(b))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write temporary map: %w", err)
	}
	slices.SortFunc(m.rows, func(a, b entry) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	m.by = newShelves(len(m.rows), func(n int) uint64 { return m.rows[n].hash })
	var err error
	m.old, err = common.all()
	return errors.Join(err, m.assets.Seal())
}

// CanBeFound reports whether an old URL can be distinguished from other text: by its host, a folder or
// an extension.
func CanBeFound(url string) bool { return beginnings{}.add(Canonical(url)) }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Find implements Lookup.
func (m *Map) Find(url string) (Verdict, error) {
	hash := maphash.String(m.seed, url)
	a := &m.recent[hash%recent]
	if a.url == url {
		return a.Verdict, nil
	}
	v, err := m.find(url)
	if err == nil {
		*a = answer{url, v}
	}
	return v, err
}

func (m *Map) find(url string) (Verdict, error) {
	if m.assets.Meet(url) {
		return Verdict{Kind: Current}, nil
	}
	r, err := m.row(url)
	if r == nil || err != nil {
		return Verdict{}, err
	}
	m.assets.Meet(Canonical(r.New))
	return Verdict{Kind: Replaced, New: r.New}, nil
}

// row returns the first row of a URL, or nil.
func (m *Map) row(old string) (*Row, error) {
	hash := maphash.String(m.seed, old)
	for n, end := m.by.of(hash); n < end; n++ {
		if m.rows[n].hash != hash {
			continue
		}
		r, err := m.read(m.rows[n].at)
		if err != nil || Canonical(r.Old) == old {
			return r, err
		}
	}
	return nil, nil
}

// read reads the row at an offset.
func (m *Map) read(at int64) (*Row, error) {
	if m.buffer == nil {
		m.buffer = make([]byte, 512)
	}
	for {
		n, err := m.file.ReadAt(m.buffer, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read temporary map: %w", err)
		}
		if row, size := parseRow(m.buffer[:n]); size > 0 {
			return &row, nil
		}
		if n < len(m.buffer) {
			return nil, fmt.Errorf("read temporary map: %w", io.ErrUnexpectedEOF)
		}
		m.buffer = make([]byte, 2*len(m.buffer))
	}
}

// parseRow parses the row at the beginning of some bytes. The size is 0 if the row is incomplete.
func parseRow(b []byte) (row Row, size int) {
	rest := b
	for _, to := range [...]*string{&row.Old, &row.New} {
		n, head := binary.Uvarint(rest)
		if head <= 0 || uint64(len(rest)-head) < n {
			return row, 0
		}
		*to, rest = string(rest[head:head+int(n)]), rest[head+int(n):]
	}
	return row, len(b) - len(rest)
}

// all yields the rows in order.
func (m *Map) all(yield func(Row, error) bool) {
	piece := make([]byte, 64<<10)
	for at := int64(0); at < m.size; {
		n, err := m.file.ReadAt(piece, at)
		if err != nil && !errors.Is(err, io.EOF) {
			yield(Row{}, fmt.Errorf("read temporary map: %w", err))
			return
		}
		rest := piece[:n]
		for {
			row, size := parseRow(rest)
			if size == 0 {
				break
			}
			if !yield(row, nil) {
				return
			}
			rest = rest[size:]
		}
		if len(rest) == n { // the row is longer than the buffer
			piece = make([]byte, 2*len(piece))
		}
		at += int64(n - len(rest))
	}
}

// checkContradictions returns an error for the first row whose old URL has another new URL in an
// earlier row.
func (m *Map) checkContradictions() error {
	var wrong *contradiction
	for first, end := 0, 0; first < len(m.rows); first = end {
		for end = first + 1; end < len(m.rows) && m.rows[end].hash == m.rows[first].hash; end++ {
		}
		if end-first == 1 {
			continue
		}
		c, err := m.contradictionIn(m.rows[first:end])
		if err != nil {
			return err
		}
		if c != nil && (wrong == nil || c.at < wrong.at) {
			wrong = c
		}
	}
	if wrong == nil {
		return nil
	}
	n := 1
	for _, e := range m.rows {
		if e.at < wrong.at {
			n++
		}
	}
	return &RowError{n, wrong.Old, fmt.Sprintf("leads to %q in an earlier row and to %q here: remove one of the rows", wrong.before, wrong.New)}
}

// A contradiction is a row with another new URL than an earlier row.
type contradiction struct {
	Row
	at     int64
	before string // the new URL of the earlier row
}

// contradictionIn returns the first contradiction among entries of the same hash, or nil. Keys that
// differ only in their form of Unicode are two objects, and urls writes a row for each.
func (m *Map) contradictionIn(same []entry) (*contradiction, error) {
	leads := map[string]string{}
	for _, e := range same {
		r, err := m.read(e.at)
		if err != nil {
			return nil, err
		}
		old := canonicalInForm(r.Old)
		before, known := leads[old]
		switch {
		case !known:
			leads[old] = r.New
		case Canonical(before) != Canonical(r.New):
			return &contradiction{*r, e.at, before}, nil
		}
	}
	return nil, nil
}

// checkCircles returns an error for an old URL that is also a new one: in a text, it could be either.
func (m *Map) checkCircles() error {
	n := 0
	for r, err := range m.all {
		if err != nil {
			return err
		}
		n++
		if old := Canonical(r.Old); m.assets.holds(old) && Canonical(r.New) != old {
			return &RowError{n, r.Old, "is an old URL here and a new URL elsewhere: in a text, it could be either"}
		}
	}
	return nil
}

// Unmet yields one row for each asset that no text mentions.
func (m *Map) Unmet(yield func(Row, error) bool) {
	for r, err := range m.all {
		if err == nil && !m.assets.Unmet(r.New) {
			continue
		}
		if !yield(r, err) {
			return
		}
	}
}
