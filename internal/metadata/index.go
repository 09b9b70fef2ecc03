package metadata

import (
	"cmp"
	"sort"
	"sync/atomic"
)

// indexPage is the number of entries in a page of an index.
const indexPage = 4096

// An index finds the offsets of rows by the hashes of their names. It grows page by page, because a
// growing slice would need twice the memory while it is copied.
type index struct {
	pages [][]entry
	n     int
}

// An entry is a name of a row. Most rows have one. A row with a URL also has its possible keys.
type entry struct {
	hash uint64 // of the name
	row  int64  // offset of the row; ^row for a possible key
}

func newEntry(hash uint64, at int64, also bool) entry {
	if also {
		at = ^at
	}
	return entry{hash, at}
}

// at returns the offset of the row.
func (e entry) at() int64 {
	if e.isAlso() {
		return ^e.row
	}
	return e.row
}

// isAlso reports whether the name is a possible key.
func (e entry) isAlso() bool { return e.row < 0 }

func (x *index) add(e entry) {
	if x.n%indexPage == 0 {
		x.pages = append(x.pages, make([]entry, 0, indexPage))
	}
	last := &x.pages[len(x.pages)-1]
	*last = append(*last, e)
	x.n++
}

func (x *index) at(n int) *entry { return &x.pages[n/indexPage][n%indexPage] }

// Len, Less and Swap sort an index by hash, and rows of the same hash by offset.
func (x *index) Len() int { return x.n }

func (x *index) Less(i, j int) bool {
	a, b := x.at(i), x.at(j)
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at(), b.at())) < 0
}

func (x *index) Swap(i, j int) {
	a, b := x.at(i), x.at(j)
	*a, *b = *b, *a
}

// named returns the entries of a hash in the order of rows, and the index of the first.
func (x *index) named(hash uint64) (begin int, entries []entry) {
	begin = sort.Search(x.n, func(n int) bool { return x.at(n).hash >= hash })
	for n := begin; n < x.n && x.at(n).hash == hash; n++ {
		entries = append(entries, *x.at(n))
	}
	return begin, entries
}

// alike yields the entries of each hash with several entries, and the index of the first.
func (x *index) alike(yield func(begin int, entries []entry) bool) {
	for n := 0; n < x.n; {
		var entries []entry
		begin, first := n, *x.at(n)
		for n++; n < x.n && x.at(n).hash == first.hash; n++ {
			if entries == nil {
				entries = append(entries, first)
			}
			entries = append(entries, *x.at(n))
		}
		if entries != nil && !yield(begin, entries) {
			return
		}
	}
}

// marks has a bit for each entry, which several goroutines may set.
type marks []atomic.Uint64

func newMarks(n int) marks { return make(marks, (n+63)/64) }

// set sets the bit of an entry, and reports whether it was not set before.
func (m marks) set(n int) bool { return m[n/64].Or(1<<(n%64))&(1<<(n%64)) == 0 }

func (m marks) has(n int) bool { return m[n/64].Load()&(1<<(n%64)) != 0 }
