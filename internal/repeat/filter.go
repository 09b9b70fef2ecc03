// Package repeat finds out whether values may have occurred before, in constant memory. A caller that
// learns that none has occurred twice need not compare them.
package repeat

import "hash/maphash"

// A Filter is a Bloom filter: it never misses a value that occurred before, but may mistake a new
// value for one. That happens with less than one of the first million values, and with more and more
// of several millions.
type Filter struct {
	seed maphash.Seed
	bits []uint64 // from the first value on
}

const (
	words  = 1 << 19 // 4 MB
	probes = 12      // best for about two million values
)

// NewFilter returns a filter without values, which takes no memory so far.
func NewFilter() *Filter { return &Filter{seed: maphash.MakeSeed()} }

// AddNumber adds a number, and reports whether it may have been added before.
func (f *Filter) AddNumber(n int64) bool { return f.add(maphash.Comparable(f.seed, n)) }

// AddText adds a text and a number, and reports whether the two may have been added before.
func (f *Filter) AddText(text string, n int64) bool {
	return f.add(maphash.String(f.seed, text) ^ maphash.Comparable(f.seed, n))
}

// add sets the bits of a hash. The positions are those of double hashing.
func (f *Filter) add(hash uint64) (all bool) {
	if f.bits == nil {
		f.bits = make([]uint64, words)
	}
	at, step := uint32(hash), uint32(hash>>32)|1
	all = true
	for range probes {
		word, bit := &f.bits[at>>6%words], uint64(1)<<(at&63)
		all = all && *word&bit != 0
		*word |= bit
		at += step
	}
	return all
}
