// Package rewrite replaces old URLs by new ones in texts of any kind: HTML, Markdown, CSS, JSON, SQL
// dumps and others.
//
// It does not parse these formats, because they are nested in practice: HTML in JSON in serialized PHP
// in SQL. It searches for the hosts and folders of old URLs instead, which all formats spell in the
// same way. The slash before a host shows the [spelling] of the characters around it. The URL is
// decoded and looked up in a [Lookup]. The new URL is written in the same spelling.
//
// Serialized PHP is the exception: its strings contain their length, which is corrected.
//
// A text is read once, in one window, see [Rewriter.Rewrite]. A [Sink] writes, shows or counts the
// results.
package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Lookup finds the new URL of an old URL in the form of Canonical.
type Lookup interface {
	Find(url string) (Verdict, error)
}

// A Verdict is the result of a Lookup.
type Verdict struct {
	Kind Kind
	New  string // if Replaced
	Why  string // if Left

	clean bool // New needs no encoding
}

// A Kind is the kind of a spot in a text.
type Kind int

// The kinds. A Lookup answers with Unknown, Replaced, Left and Current.
const (
	Unknown  Kind = iota // begins like an old URL, but has no asset
	Replaced             // an old URL
	Left                 // an old URL that stays, with a reason
	Current              // a new URL
	Length               // the length of a serialized string with a replacement
)

// Reasons why an old URL stays.
const (
	WrongLength = "wrong_length" // in a serialized string whose length was already wrong
	TooLong     = "too_long"     // in a serialized string beyond maxSerialized
)

// A Spot is a URL or a length in a text.
type Spot struct {
	Kind Kind
	Old  []byte // as spelled in the text; valid until the Sink returns, as is New
	New  []byte // the replacement; nil unless the kind is Replaced or Length
	URL  string // the decoded URL, without query and fragment if it was found without them
	Why  string
	Line int64 // from 1

	from, to int // offsets in the window
}

func (s Spot) changes() bool { return s.New != nil }

// A Sink receives a text in pieces: unchanged text and spots. The text of a spot without a replacement
// comes as unchanged text, too.
type Sink interface {
	Keep(text []byte) error
	Spot(Spot) error
}

// Limits of memory.
const (
	maxSerialized = 16 << 20 // bytes of a serialized string
	firstWindow   = 256 << 10
	maxDepth      = 16 // of nested serialized strings
)

// A Rewriter replaces URLs, in one text after the other.
type Rewriter struct {
	lookup        Lookup
	places        places
	words         wordSet
	anyWord       bool // a URL may be in the root
	maxSerialized int
	window        int // initial size in bytes

	reading reading
	spelled []byte // the new URLs of the last spots
	spot    [1]Spot
}

// New returns a Rewriter for URLs with the given beginnings. It passes new URLs to the Lookup, too,
// which records that they occur.
func New(lookup Lookup, old, new []string) (*Rewriter, error) {
	p, err := newPlaces(old, new)
	if err != nil {
		return nil, err
	}
	words := p.words()
	return &Rewriter{
		lookup: lookup, places: p, words: newWordSet(words), anyWord: slices.Contains(words, string(root)),
		maxSerialized: maxSerialized, window: firstWindow,
	}, nil
}

// Rewrite reads a text to its end and passes it to a Sink.
//
// The window is small, except for a serialized string: its length comes first, so all of it is in
// memory. In a string beyond the limit, nothing is replaced.
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

// advance processes the window, and reports whether there is more to read.
func (r *Rewriter) advance(w *window, p *pass, to Sink) (more bool, err error) {
	for {
		p.text, p.final = w.buffer, w.ended
		r.spelled = r.spelled[:0]
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

// A window is the piece of a text in memory.
type window struct {
	from   io.Reader
	buffer []byte
	out    int // bytes passed to the sink
	ended  bool
	line   int64
}

// fill drops text that is done, and reads more.
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

// keep passes unchanged text to the sink.
func (w *window) keep(end int, to Sink) error {
	if end <= w.out {
		return nil
	}
	text := w.buffer[w.out:end]
	w.out, w.line = end, w.line+int64(bytes.Count(text, []byte("\n")))
	return to.Keep(text)
}

// give passes a spot and the text before it to the sink.
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
