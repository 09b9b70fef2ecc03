package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
)

// A Row is an old URL with its new URL.
type Row struct {
	Old string
	New string // the URL of the asset
}

// A Map is a Lookup. Its index takes 16 bytes of memory per row, and 8 bytes per asset. New URLs take
// the size of their ID, see newURLs. A temporary file has the complete rows, for messages and lists.
//
// Old URLs are compared by two hashes with random seeds and 96 bits in total. In a map of a million rows,
// the probability that an unknown URL is taken for a known one is 10^-23.
type Map struct {
	rows    *mapRows
	seeds   [2]maphash.Seed
	entries []entry // by hash of their old URLs
	by      shelves
	news    *newURLs
	found   []uint64 // a bit for each entry whose asset is known to be mentioned
	old     []string
	assets  *Assets
}

// An entry is a row in memory.
type entry struct {
	hash  uint64 // of the old URL
	check uint32 // another hash of it
	place uint32 // of the new URL, ascending in the order of rows
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
	file, err := newMapRows()
	if err != nil {
		return nil, err
	}
	m := &Map{rows: file, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, news: newNewURLs(), assets: newAssets()}
	for _, step := range []func() error{func() error { return m.take(rows) }, m.index, m.checkContradictions, m.checkCircles} {
		if err = step(); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// Close deletes the temporary file.
func (m *Map) Close() error { return m.rows.Close() }

// Old returns the beginnings of old URLs.
func (m *Map) Old() []string { return m.old }

// Assets returns the targets of the rows, with those that texts mention.
func (m *Map) Assets() *Assets { return m.assets }

// take reads all rows.
func (m *Map) take(rows iter.Seq2[Row, error]) error {
	common := beginnings{}
	for r, err := range rows {
		if err != nil {
			return err
		}
		n := m.rows.count + 1
		old := Canonical(r.Old)
		switch {
		case old == "":
			return &RowError{n, r.Old, "is not a URL: it must begin with https://, http:// or a slash"}
		case !common.add(old):
			return &RowError{n, r.Old, "has no host, folder or extension, and cannot be distinguished from other text"}
		}
		asset, err := m.assets.add(r.New)
		if err != nil {
			return &RowError{n, r.New, err.Error()}
		}
		e := m.entryOf(old)
		if e.place, err = m.news.add(r.New); err != nil {
			return err
		}
		if err := m.rows.add(e, asset, r); err != nil {
			return err
		}
	}
	var err error
	m.old, err = common.all()
	return errors.Join(err, m.rows.flush())
}

// entryOf returns the hashes of an old URL.
func (m *Map) entryOf(old string) entry {
	return entry{hash: maphash.String(m.seeds[0], old), check: uint32(maphash.String(m.seeds[1], old))}
}

// index makes the index of rows and that of assets. Only now is their number known, so that no memory
// is left over.
func (m *Map) index() error {
	m.entries = make([]entry, 0, m.rows.count)
	assets := make([]uint64, 0, m.rows.count)
	for r, err := range m.rows.all {
		if err != nil {
			return err
		}
		m.entries, assets = append(m.entries, r.entry), append(assets, r.asset)
	}
	slices.SortFunc(m.entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.place, b.place)) })
	m.by = newShelves(len(m.entries), func(n int) uint64 { return m.entries[n].hash })
	m.found = newBits(len(m.entries))
	return m.assets.seal(assets)
}

// CanBeFound reports whether an old URL can be distinguished from other text: by its host, a folder or
// an extension.
func CanBeFound(url string) bool { return beginnings{}.add(Canonical(url)) }

// Find implements Lookup.
func (m *Map) Find(url string) (Verdict, error) {
	if m.assets.Meet(url) {
		return Verdict{Kind: Current}, nil
	}
	e := m.entryOf(url)
	for n, end := m.by.of(e.hash); n < end; n++ {
		if m.entries[n].hash == e.hash && m.entries[n].check == e.check {
			return m.replaced(n), nil
		}
	}
	return Verdict{}, nil
}

// replaced returns the verdict of an entry, and records that a text mentions its asset.
func (m *Map) replaced(n int) Verdict {
	url, isClean := m.news.at(m.entries[n].place)
	if !hasBit(m.found, n) {
		setBit(m.found, n)
		m.assets.Meet(Canonical(url))
	}
	return Verdict{Kind: Replaced, New: url, clean: isClean}
}

// checkContradictions returns an error for the first row whose old URL has another new URL in an
// earlier row. Keys that differ only in their form of Unicode are two objects, and urls writes a row
// for each.
func (m *Map) checkContradictions() error {
	several := m.severalNew()
	if len(several) == 0 {
		return nil
	}
	leads := map[string]string{}
	n := 0
	for r, err := range m.rows.all {
		if err != nil {
			return err
		}
		if n++; !several[r.hash] {
			continue
		}
		old, after := canonicalInForm(string(r.old)), string(r.new)
		before, known := leads[old]
		switch {
		case !known:
			leads[old] = after
		case Canonical(before) != Canonical(after):
			return &RowError{n, string(r.old), fmt.Sprintf("leads to %q in an earlier row and to %q here: remove one of the rows", before, after)}
		}
	}
	return nil
}

// severalNew returns the hashes of old URLs with several new URLs.
func (m *Map) severalNew() map[uint64]bool {
	several := map[uint64]bool{}
	for first, end := 0, 0; first < len(m.entries); first = end {
		hash, url := m.entries[first].hash, ""
		for end = first + 1; end < len(m.entries) && m.entries[end].hash == hash; end++ {
			if url == "" {
				url, _ = m.news.at(m.entries[first].place)
			}
			if other, _ := m.news.at(m.entries[end].place); Canonical(other) != Canonical(url) {
				several[hash] = true
			}
		}
	}
	return several
}

// checkCircles returns an error for an old URL that is also a new one: in a text, it could be either.
func (m *Map) checkCircles() error {
	n := 0
	for r, err := range m.rows.all {
		if err != nil {
			return err
		}
		n++
		if old := Canonical(string(r.old)); m.assets.holds(old) && Canonical(string(r.new)) != old {
			return &RowError{n, string(r.old), "is an old URL here and a new URL elsewhere: in a text, it could be either"}
		}
	}
	return nil
}

// Unmet yields one row for each asset that no text mentions.
func (m *Map) Unmet(yield func(Row, error) bool) {
	for r, err := range m.rows.all {
		if err == nil && !m.assets.unmet(r.asset) {
			continue
		}
		if !yield(Row{string(r.old), string(r.new)}, err) {
			return
		}
	}
}
