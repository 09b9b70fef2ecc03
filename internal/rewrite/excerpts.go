package rewrite

import (
	"bytes"
	"unicode/utf8"
)

// A Hunk is an old and a new line. A long line is reduced to the text around the changes, with
// ellipses.
type Hunk struct {
	Line     int64
	Old, New string
}

// Excerpts is a Sink that makes hunks. Its memory does not depend on the length of a line.
type Excerpts struct {
	Most   int   // hunks to show; 0 means all
	Hidden int64 // changed lines after these, at least in part

	show     func(Hunk) error
	shown    int
	line     int64
	old, new []byte // of the open hunk
	gap      gap
}

// Limits for readable output.
const (
	around   = 60   // bytes shown before and after a change
	longHunk = 1000 // bytes after which a hunk ends within a line
)

// NewExcerpts returns Excerpts that pass hunks to show.
func NewExcerpts(show func(Hunk) error) *Excerpts { return &Excerpts{show: show, line: 1} }

// Keep implements Sink.
func (e *Excerpts) Keep(text []byte) error {
	if e.isFull() {
		return nil
	}
	n := bytes.LastIndexByte(text, '\n')
	if n < 0 {
		e.gap.add(text)
		return nil
	}
	if len(e.old) > 0 {
		first := bytes.IndexByte(text, '\n')
		e.gap.add(bytes.TrimSuffix(text[:first], []byte("\r")))
		if err := e.Close(); err != nil {
			return err
		}
	}
	e.line += int64(bytes.Count(text[:n+1], []byte("\n")))
	e.gap.clear()
	e.gap.add(text[n+1:])
	return nil
}

// Spot implements Sink.
func (e *Excerpts) Spot(s Spot) error {
	switch {
	case !s.changes():
		return nil
	case e.isFull():
		if e.Hidden == 0 || e.line != s.Line {
			e.Hidden++
		}
		e.line = s.Line
		return nil
	}
	e.line = s.Line
	e.write(e.gap.before(len(e.old) > 0)...)
	e.gap.clear()
	e.old, e.new = append(e.old, s.Old...), append(e.new, s.New...)
	if len(e.old) < longHunk {
		return nil
	}
	e.gap.length = 2*around + 1 // omit the following text
	return e.Close()
}

// Close shows the open hunk.
func (e *Excerpts) Close() error {
	if len(e.old) == 0 {
		return nil
	}
	e.write(e.gap.after()...)
	h := Hunk{e.line, string(e.old), string(e.new)}
	e.old, e.new = e.old[:0], e.new[:0]
	e.shown++
	return e.show(h)
}

// isFull reports whether no more hunks are shown.
func (e *Excerpts) isFull() bool { return e.Most > 0 && e.shown == e.Most }

func (e *Excerpts) write(texts ...[]byte) {
	for _, text := range texts {
		e.old, e.new = append(e.old, text...), append(e.new, text...)
	}
}

// A gap is the text since the last change or the beginning of a line, as far as it may be shown.
type gap struct {
	length int
	head   []byte
	tail   []byte
}

func (g *gap) add(text []byte) {
	g.length += len(text)
	g.head = append(g.head, text[:min(len(text), 2*around-len(g.head))]...)
	g.tail = append(g.tail, text[max(0, len(text)-around):]...)
	if extra := len(g.tail) - around; extra > 0 {
		g.tail = g.tail[:copy(g.tail, g.tail[extra:])]
	}
}

func (g *gap) clear() { *g = gap{head: g.head[:0], tail: g.tail[:0]} }

var ellipsis = []byte("…")

// before returns the excerpt of a gap before a change, with or without another change before it. It is
// valid until the gap changes, as is that of after.
func (g *gap) before(change bool) [][]byte {
	switch {
	case g.length <= 2*around:
		return [][]byte{g.head}
	case change:
		return [][]byte{wholeEnd(g.head[:around]), ellipsis, wholeBegin(g.tail)}
	}
	return [][]byte{ellipsis, wholeBegin(g.tail)}
}

// after returns the excerpt of a gap after a change.
func (g *gap) after() [][]byte {
	if g.length <= 2*around {
		return [][]byte{g.head}
	}
	return [][]byte{wholeEnd(g.head[:min(around, len(g.head))]), ellipsis}
}

// wholeBegin removes an incomplete character at the beginning of a text.
func wholeBegin(text []byte) []byte {
	for n := 0; n < min(len(text), utf8.UTFMax); n++ {
		if utf8.RuneStart(text[n]) {
			return text[n:]
		}
	}
	return text
}

// wholeEnd removes an incomplete character at the end of a text.
func wholeEnd(text []byte) []byte {
	for n := len(text) - 1; n >= max(0, len(text)-utf8.UTFMax); n-- {
		if utf8.RuneStart(text[n]) {
			if !utf8.FullRune(text[n:]) {
				return text[:n]
			}
			break
		}
	}
	return text
}
