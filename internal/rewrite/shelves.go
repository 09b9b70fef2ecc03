package rewrite

import "math/bits"

// Shelves say where, among ascending hashes, those with the same first bits begin: a few
// on each, because hashes are evenly spread. Finding one takes two looks into memory
// instead of the twenty of a binary search, which is most of what an answer costs.
type shelves struct {
	shift  int
	starts []uint32
}

// onShelf is how many hashes there are on a shelf, more or less.
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

// of gives where hashes with the same first bits begin and end.
func (s shelves) of(hash uint64) (begin, end int) {
	n := hash >> s.shift
	return int(s.starts[n]), int(s.starts[n+1])
}
