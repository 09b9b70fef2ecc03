package redirect

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A PathSummary has what a map of nginx or IIS needs from all rows before the first: their number,
// the longest one, and paths that the server cannot distinguish. It takes eight bytes per row.
type PathSummary struct {
	fold    func(rune) rune // nil: foldASCII
	longest int
	hashes  []uint64 // of paths, as the server compares them
	sorted  bool
}

// newPathSummary returns an empty summary for a format.
func newPathSummary(format string) *PathSummary {
	if format == "iis" {
		return &PathSummary{fold: foldCase}
	}
	return &PathSummary{}
}

// Add adds a row.
func (s *PathSummary) Add(r Row) error {
	path, err := pathOf(r.Old)
	if err != nil {
		return err
	}
	s.longest = max(s.longest, len(path))
	s.hashes, s.sorted = append(s.hashes, s.hashOf(path)), false
	return nil
}

// hashOf returns the hash of a path without the case that the server ignores.
func (s *PathSummary) hashOf(path string) uint64 {
	if s.fold == nil {
		return hashText(path, foldASCII)
	}
	return hashText(path, s.fold)
}

// foldASCII returns a letter of ASCII in lower case. nginx ignores no other case.
func foldASCII(c rune) rune {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// foldCase returns one character for all that differ only in case.
func foldCase(c rune) rune {
	least := c
	for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}

// hashText returns the FNV-1a hash of a text with folded characters. Invalid bytes are not folded.
func hashText(text string, fold func(rune) rune) uint64 {
	h := uint64(14695981039346656037)
	var encoded [utf8.UTFMax]byte
	for rest := text; rest != ""; {
		c, size := utf8.DecodeRuneInString(rest)
		bytes := append(encoded[:0], rest[:size]...)
		if c != utf8.RuneError {
			bytes = utf8.AppendRune(encoded[:0], fold(c))
		}
		for _, b := range bytes {
			h = (h ^ uint64(b)) * 1099511628211
		}
		rest = rest[size:]
	}
	return h
}

// isAlone reports whether a path was added and the server can distinguish it from all others.
func (s *PathSummary) isAlone(path string) bool {
	s.sort()
	h := s.hashOf(path)
	at, found := slices.BinarySearch(s.hashes, h)
	return found && (at+1 == len(s.hashes) || s.hashes[at+1] != h)
}

func (s *PathSummary) sort() {
	if !s.sorted {
		slices.Sort(s.hashes)
		s.sorted = true
	}
}

// most returns how many paths the server cannot distinguish from each other, at most.
func (s *PathSummary) most() (most int) {
	s.sort()
	run := 0
	for i, h := range s.hashes {
		if i == 0 || h != s.hashes[i-1] {
			run = 0
		}
		run++
		most = max(most, run)
	}
	return most
}
