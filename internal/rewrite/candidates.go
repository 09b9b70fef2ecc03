package rewrite

import "bytes"

// A candidate is a place in a text where a URL or a serialized string may begin.
type candidate struct {
	at         int // offset of its mark
	begin      int // offset of the host or first folder of the URL, or of the serialized string
	serialized bool
}

// A mark is a byte that candidates have. Searching for one mark after the other is several times as fast
// as looking at each byte, because bytes.IndexByte compares 32 bytes at once.
type mark int

const (
	slashMark   mark = iota // / before a host or folder
	digitMark               // the 2 of %2F, %252F or \u002F before a host or folder
	entityMark              // &#x2F; before a host or folder
	colonMark               // s:5
	percentMark             // s%3A5
	marks
)

// A search finds the candidates of one mark in a text, in order.
type search struct {
	next  candidate // at is the end of the searched text if there is none
	found bool
}

// candidate returns the first candidate from p.at on.
func (r *Rewriter) candidate(p *pass) (first candidate, ok bool) {
	bound := p.bound()
	for m := range p.searches {
		s := &p.searches[m]
		if s.next.at < p.at || !s.found && s.next.at < bound {
			s.next, s.found = r.search(mark(m), p.text, max(s.next.at, p.at), bound)
		}
		if s.found && (!ok || s.next.at < first.at) {
			first, ok = s.next, true
		}
	}
	return first, ok
}

// search finds the first candidate of a mark between two offsets.
func (r *Rewriter) search(m mark, text []byte, from, to int) (c candidate, ok bool) {
	for from < to {
		n := m.index(text[from:to])
		if n < 0 {
			break
		}
		if c, ok = r.candidateAt(m, text, from+n); ok {
			return c, true
		}
		from += n + 1
	}
	return candidate{at: to}, false
}

// index returns the offset of the first mark in a text, or -1.
func (m mark) index(text []byte) int { return bytes.IndexByte(text, "/2&:%"[m]) }

// candidateAt returns the candidate whose mark is at an offset, if there is one. The text before it is
// parsed later.
func (r *Rewriter) candidateAt(m mark, text []byte, at int) (c candidate, ok bool) {
	begin, rest := at+1, text[at+1:]
	switch m {
	case slashMark:
		return candidate{at: at, begin: begin}, r.anyWord || r.words.begin(rest)
	case digitMark:
		if len(rest) == 0 || lower(rest[0]) != 'f' {
			return c, false
		}
		begin++
	case entityMark:
		r, n := entityAt(text[at:])
		if r != '/' {
			return c, false
		}
		begin = at + n
	case colonMark:
		return candidate{at, at - 1, true}, at > 0 && isHeaderLetter(text[at-1]) && len(rest) > 0 && isDigit(rest[0])
	case percentMark:
		return candidate{at, at - 1, true}, at > 0 && lower(text[at-1]) == 's' && len(rest) > 2 && rest[0] == '3' && lower(rest[1]) == 'a' && isDigit(rest[2])
	}
	return candidate{at: at, begin: begin}, r.words.begin(text[begin:])
}

// isHeaderLetter reports whether a serialized string may begin with a letter.
func isHeaderLetter(c byte) bool { return lower(c) == 's' || c == 'C' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// wordSet is a set of ASCII words. A table has the next state for each state and byte.
type wordSet [][256]uint32

const (
	noWord uint32 = iota // state: no word begins like this
	start
	wholeWord = ^uint32(0)
)

func newWordSet(words []string) wordSet {
	set := make(wordSet, start+1)
	for _, w := range words {
		set.add(w)
	}
	return set
}

// add adds a word, in both cases. A word that begins with another one needs no states.
func (w *wordSet) add(word string) {
	s := start
	for i := range len(word) {
		next := (*w)[s][lower(word[i])]
		switch {
		case next == wholeWord:
			return
		case i == len(word)-1:
			next = wholeWord
		case next == noWord:
			next = uint32(len(*w))
			*w = append(*w, [256]uint32{})
		}
		for c := range 256 {
			if lower(byte(c)) == lower(word[i]) {
				(*w)[s][c] = next
			}
		}
		s = next
	}
}

// begin reports whether a text begins with a word, ignoring case.
func (w wordSet) begin(text []byte) bool {
	s := start
	for _, c := range text {
		switch s = w[s][c]; s {
		case noWord:
			return false
		case wholeWord:
			return true
		}
	}
	return false
}
