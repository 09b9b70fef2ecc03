package rewrite

import "math/bits"

// shelves is an index of sorted hashes by their first bits. Hashes are evenly distributed, so a shelf
// has only a few. A lookup takes two memory accesses instead of the twenty of a binary search, which
// dominate its cost.
type shelves struct {
	shift  int
	starts []uint32
}

// onShelf is the average number of hashes per shelf.
const onShelf = 8

func newShelves(count int, hash func(n int) uint64) shelves {
	k := bits.Len(uint(count / onShelf))
	s := shelves{64 - k, make([]uint32, 1<<k+1)}
	for n := range count {
		s.starts[hash(n)>>s.shift+1]++
	}
	for n := 1; n < len(s.starts); n++ {
		s.starts[n] += s.starts[n-1]
	}
	return s
}

// of returns the range of hashes with the same first bits.
func (s shelves) of(hash uint64) (begin, end int) {
	n := hash >> s.shift
	return int(s.starts[n]), int(s.starts[n+1])
}
