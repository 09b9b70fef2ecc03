package rewrite

// An automaton finds words in a text in one pass, ignoring case. A table has the next state for each
// state and byte. States from firstFinal on have just read a word.
type automaton struct {
	next       []uint32 // 256 for each state
	firstFinal uint32
	words      []int // the word that was read, by state from firstFinal on
}

const noWord = -1

// newAutomaton returns an automaton for ASCII words. If a word contains another one, it finds the one
// that ends first.
func newAutomaton(words []string) *automaton {
	next, ends, fallback := trie(words)
	a := &automaton{next: make([]uint32, 0, len(next)*256)}
	// States that have read a word come last, so that one comparison finds them.
	order := make([]uint32, len(next))
	for _, final := range [...]bool{false, true} {
		if final {
			a.firstFinal = uint32(len(a.next) / 256)
		}
		for s := range next {
			if (ends[s] != noWord) == final {
				order[s] = uint32(len(a.next) / 256)
				a.next = append(a.next, make([]uint32, 256)...)
				if final {
					a.words = append(a.words, ends[s])
				}
			}
		}
	}
	for s := range next {
		for c := range 256 {
			a.next[int(order[s])*256+c] = order[step(next, fallback, s, lower(byte(c)))]
		}
	}
	return a
}

// trie returns the states of all words, the word that ends in each state, and for each state the
// fallback: the state of the longest proper suffix.
func trie(words []string) (next []map[byte]int, ends, fallback []int) {
	add := func() int {
		next, ends = append(next, map[byte]int{}), append(ends, noWord)
		return len(next) - 1
	}
	add()
	for n, w := range words {
		s := 0
		for i := range len(w) {
			c := lower(w[i])
			if _, ok := next[s][c]; !ok {
				next[s][c] = add()
			}
			s = next[s][c]
		}
		if ends[s] == noWord {
			ends[s] = n
		}
	}
	fallback = make([]int, len(next))
	queue := []int{0}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		for c, child := range next[s] {
			if s != 0 {
				fallback[child] = step(next, fallback, fallback[s], c)
			}
			if ends[child] == noWord {
				ends[child] = ends[fallback[child]]
			}
			queue = append(queue, child)
		}
	}
	return next, ends, fallback
}

func step(next []map[byte]int, fallback []int, s int, c byte) int {
	for {
		if to, ok := next[s][c]; ok {
			return to
		}
		if s == 0 {
			return 0
		}
		s = fallback[s]
	}
}

// find reads a text up to the end of a word, or to its own end, and returns that offset.
func (a *automaton) find(text []byte, state *uint32) (end, word int) {
	s, next := *state, a.next
	for i, c := range text {
		if s = next[s<<8|uint32(c)]; s >= a.firstFinal {
			*state = s
			return i + 1, a.words[s-a.firstFinal]
		}
	}
	*state = s
	return len(text), noWord
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}
