package metadata

import (
	"cmp"
	"sort"
)

// indexPage is how many entries of an index are in one piece.
const indexPage = 4096

// An index finds where the rows of a table begin by the hashes of their keys. It grows a
// page at a time, because to copy a slice as it grows would take twice the memory.
type index struct {
	pages [][]entry
	n     int
}

type entry struct {
	hash uint64 // of the key
	at   int64  // where in the file its row begins
}

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
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) < 0
}

func (x *index) Swap(i, j int) {
	a, b := x.at(i), x.at(j)
	*a, *b = *b, *a
}

// find gives where the rows begin whose keys have a hash, in order.
func (x *index) find(hash uint64) (rows []int64) {
	for n := sort.Search(x.n, func(n int) bool { return x.at(n).hash >= hash }); n < x.n && x.at(n).hash == hash; n++ {
		rows = append(rows, x.at(n).at)
	}
	return rows
}

// alike yields the rows of each hash that several keys have.
func (x *index) alike(yield func(rows []entry) bool) {
	for n := 0; n < x.n; {
		var rows []entry
		first := *x.at(n)
		for n++; n < x.n && x.at(n).hash == first.hash; n++ {
			if rows == nil {
				rows = append(rows, first)
			}
			rows = append(rows, *x.at(n))
		}
		if rows != nil && !yield(rows) {
			return
		}
	}
}
