// Package rewrite replaces old addresses by new ones in texts of any kind: HTML, Markdown,
// CSS, JSON, SQL dumps and whatever else has addresses in it.
//
// It does not parse any of these. They are nested in each other in practice, HTML in JSON
// in PHP's serialized form in SQL, and a parser of each would have to be right about all of
// them. What is looked for instead are the hosts and folders that old addresses begin with,
// which no format spells in another way. From there the spelling of the slash before it
// tells how the characters around it are to be read: that is a [spelling]. The address is
// decoded, looked up in a [Lookup], and the new one is written as the old one was.
//
// One thing is known of the formats, because there a replacement would do harm: strings
// that PHP serialized have their length before them, and it is corrected.
//
// A text is read once, in one window: see [Rewriter.Rewrite]. What is found in it goes to a
// [Sink], which writes it, shows it, or counts it.
package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Lookup knows what stands for addresses. They are asked for in the form of Canonical.
type Lookup interface {
	Find(address string) (Verdict, error)
}

// A Verdict is what a Lookup knows of an address.
type Verdict struct {
	Kind Kind
	New  string // of what is Replaced
	Why  string // of what is Left
}

// A Kind is what something in a text is.
type Kind int

// The kinds. A Lookup answers with Unknown, Replaced, Left and Current.
const (
	Unknown  Kind = iota // begins like an old address, and is none that is known
	Replaced             // an old address
	Left                 // an old address that stays, and why is told
	Current              // a new address
	Length               // the length of a serialized string that holds what was replaced
)

// Why an old address stays.
const (
	WrongLength = "wrong_length" // in a serialized string whose length was wrong before
	TooLong     = "too_long"     // in a serialized string that is too long to be held
)

// A Spot is something in a text that a person may want to know of.
type Spot struct {
	Kind    Kind
	Old     []byte // as it is spelled; valid until the Sink returns
	New     []byte // instead of it, nil unless that is Replaced or Length
	Address string // of an address: decoded, without query and fragment if it was known without
	Why     string
	Line    int64 // from 1

	from, to int // in the text that is held
}

func (s Spot) changes() bool { return s.New != nil }

// A Sink gets a text in pieces: what stays as it is, and spots. A spot that changes
// something comes instead of a piece; of one that does not, the text comes as well.
type Sink interface {
	Keep(text []byte) error
	Spot(Spot) error
}

// Limits of what is held in memory.
const (
	maxSerialized = 16 << 20 // bytes of a serialized string
	firstWindow   = 256 << 10
	maxDepth      = 16 // of serialized strings in each other
)

// A Rewriter replaces addresses. It may be used for one text after the other.
type Rewriter struct {
	lookup        Lookup
	places        places
	words         *automaton
	wordLengths   []int
	addresses     int // words before this one are of addresses, others of serialized strings
	maxSerialized int
	window        int // bytes, to begin with

	reading reading
}

// New returns a Rewriter for addresses that begin in certain ways: old ones, and new ones,
// of which the Lookup is to know that they occur.
func New(lookup Lookup, old, new []string) (*Rewriter, error) {
	p, err := newPlaces(old, new)
	if err != nil {
		return nil, err
	}
	words := p.words()
	r := &Rewriter{lookup: lookup, places: p, addresses: len(words), maxSerialized: maxSerialized, window: firstWindow}
	words = append(words, serializedWords()...)
	for _, w := range words {
		r.wordLengths = append(r.wordLengths, len(strings.TrimPrefix(w, string(root)))) // a path begins after its slash
	}
	r.words = newAutomaton(words)
	return r, nil
}

// Rewrite reads a text to its end and gives it to a Sink.
//
// The window that is held is small, but for a serialized string: all of it is held, because
// its length comes first. In one that is longer than the limit nothing is replaced.
func (r *Rewriter) Rewrite(from io.Reader, to Sink) error {
	w := &window{from: from, buffer: make([]byte, 0, r.window), line: 1}
	p := &pass{}
	for {
		more, err := r.advance(w, p, to)
		if err != nil || !more {
			return err
		}
		if err := w.fill(p); err != nil {
			return err
		}
	}
}

// advance handles what is in the window, and reports whether there is more to read.
func (r *Rewriter) advance(w *window, p *pass, to Sink) (more bool, err error) {
	for {
		p.text, p.final = w.buffer, w.ended
		spots, err := r.next(p)
		if err != nil {
			return false, err
		}
		for _, s := range spots {
			if err := w.give(s, to); err != nil {
				return false, err
			}
		}
		if spots != nil {
			continue
		}
		if w.ended {
			return false, w.keep(len(w.buffer), to)
		}
		return true, w.keep(max(p.at-lookBehind, w.out), to)
	}
}

// A window is the piece of a text that is held.
type window struct {
	from   io.Reader
	buffer []byte
	out    int // what was given out
	ended  bool
	line   int64
}

// fill reads more, after it has let go of what is not needed any more.
func (w *window) fill(p *pass) error {
	drop := min(w.out, max(p.at-lookBehind, 0))
	w.buffer = w.buffer[:copy(w.buffer, w.buffer[drop:])]
	w.out -= drop
	p.slide(drop)
	if len(w.buffer) > cap(w.buffer)/2 {
		w.buffer = append(make([]byte, 0, 2*cap(w.buffer)), w.buffer...)
	}
	for len(w.buffer) < cap(w.buffer) {
		n, err := w.from.Read(w.buffer[len(w.buffer):cap(w.buffer)])
		w.buffer = w.buffer[:len(w.buffer)+n]
		if errors.Is(err, io.EOF) {
			w.ended = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
	return nil
}

// keep gives out text that stays.
func (w *window) keep(end int, to Sink) error {
	if end <= w.out {
		return nil
	}
	text := w.buffer[w.out:end]
	w.out, w.line = end, w.line+int64(bytes.Count(text, []byte("\n")))
	return to.Keep(text)
}

// give gives out a spot, and the text before it.
func (w *window) give(s Spot, to Sink) error {
	if err := w.keep(s.from, to); err != nil {
		return err
	}
	s.Line, s.Old = w.line, w.buffer[s.from:s.to]
	if s.changes() {
		w.out, w.line = s.to, w.line+int64(bytes.Count(s.Old, []byte("\n")))
	}
	return to.Spot(s)
}
