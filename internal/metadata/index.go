package metadata

import (
	"cmp"
	"sort"
	"sync/atomic"
)

// indexPage is how many entries of an index are in one piece.
const indexPage = 4096

// An index finds where the rows of a table begin by the hashes of their names. It grows a
// page at a time, because to copy a slice as it grows would take twice the memory.
type index struct {
	pages [][]entry
	n     int
}

// An entry is a name of a row. Most rows have one; others have their own, and also the keys
// that may follow from it.
type entry struct {
	hash uint64 // of the name
	row  int64  // where in the file its row begins; ^row if it is not the row's own name
}

func newEntry(hash uint64, at int64, also bool) entry {
	if also {
		at = ^at
	}
	return entry{hash, at}
}

// at is where in the file the row begins.
func (e entry) at() int64 {
	if e.isAlso() {
		return ^e.row
	}
	return e.row
}

// isAlso reports whether it is not the row's own name.
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

// Len, Less and Swap have an index sorted by hash, and rows of the same hash in order.
func (x *index) Len() int { return x.n }

func (x *index) Less(i, j int) bool {
	a, b := x.at(i), x.at(j)
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at(), b.at())) < 0
}

func (x *index) Swap(i, j int) {
	a, b := x.at(i), x.at(j)
	*a, *b = *b, *a
}

// named returns the entries of a hash in order of their rows, and which is the first of them.
func (x *index) named(hash uint64) (begin int, entries []entry) {
	begin = sort.Search(x.n, func(n int) bool { return x.at(n).hash >= hash })
	for n := begin; n < x.n && x.at(n).hash == hash; n++ {
		entries = append(entries, *x.at(n))
	}
	return begin, entries
}

// alike yields the entries of each hash that several have, after which is the first of them.
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

// marks are a bit for each entry, which several goroutines may set.
type marks []atomic.Uint64

func newMarks(n int) marks { return make(marks, (n+63)/64) }

func (m marks) set(n int) { m[n/64].Or(1 << (n % 64)) }

func (m marks) has(n int) bool { return m[n/64].Load()&(1<<(n%64)) != 0 }
