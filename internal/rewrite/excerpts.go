package rewrite

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A Hunk is what a line was and what it becomes. Of a long line there is what is around the
// changes; what is left out is an ellipsis.
type Hunk struct {
	Line     int64
	Old, New string
}

// Excerpts is a Sink that makes hunks. However long a line is, little of it is held.
type Excerpts struct {
	show     func(Hunk) error
	line     int64
	old, new strings.Builder // of the hunk that has begun
	gap      gap
}

// Bounds of what people can read.
const (
	around   = 60   // bytes shown before and after a change
	longHunk = 1000 // bytes after which a hunk ends, although the line goes on
)

// NewExcerpts has hunks shown.
func NewExcerpts(show func(Hunk) error) *Excerpts { return &Excerpts{show: show, line: 1} }

// Keep implements Sink.
func (e *Excerpts) Keep(text []byte) error {
	n := bytes.LastIndexByte(text, '\n')
	if n < 0 {
		e.gap.add(text)
		return nil
	}
	if e.old.Len() > 0 {
		first := bytes.IndexByte(text, '\n')
		e.gap.add(bytes.TrimSuffix(text[:first], []byte("\r")))
		if err := e.Close(); err != nil {
			return err
		}
	}
	e.line += int64(bytes.Count(text[:n+1], []byte("\n")))
	e.gap = gap{}
	e.gap.add(text[n+1:])
	return nil
}

// Spot implements Sink.
func (e *Excerpts) Spot(s Spot) error {
	if !s.changes() {
		return nil
	}
	e.line = s.Line
	e.write(e.gap.before(e.old.Len() > 0))
	e.gap = gap{}
	e.old.Write(s.Old)
	e.new.Write(s.New)
	if e.old.Len() < longHunk {
		return nil
	}
	e.gap.length = 2*around + 1 // what follows is left out
	return e.Close()
}

// Close shows the hunk that has begun.
func (e *Excerpts) Close() error {
	if e.old.Len() == 0 {
		return nil
	}
	e.write(e.gap.after())
	h := Hunk{e.line, e.old.String(), e.new.String()}
	e.old.Reset()
	e.new.Reset()
	return e.show(h)
}

func (e *Excerpts) write(text string) {
	e.old.WriteString(text)
	e.new.WriteString(text)
}

// A gap is the text since the last change in a line, or since its beginning: what may be
// shown of it.
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

const ellipsis = "…"

// before is what is shown of a gap before a change, after another one or not.
func (g *gap) before(change bool) string {
	switch {
	case g.length <= 2*around:
		return string(g.head)
	case change:
		return wholeEnd(g.head[:around]) + ellipsis + wholeBegin(g.tail)
	}
	return ellipsis + wholeBegin(g.tail)
}

// after is what is shown of a gap after a change.
func (g *gap) after() string {
	if g.length <= 2*around {
		return string(g.head)
	}
	return wholeEnd(g.head[:min(around, len(g.head))]) + ellipsis
}

// wholeBegin leaves out the rest of a character that a text begins with.
func wholeBegin(text []byte) string {
	for n := 0; n < min(len(text), utf8.UTFMax); n++ {
		if utf8.RuneStart(text[n]) {
			return string(text[n:])
		}
	}
	return string(text)
}

// wholeEnd leaves out the beginning of a character that a text ends with.
func wholeEnd(text []byte) string {
	for n := len(text) - 1; n >= max(0, len(text)-utf8.UTFMax); n-- {
		if utf8.RuneStart(text[n]) {
			if !utf8.FullRune(text[n:]) {
				return string(text[:n])
			}
			break
		}
	}
	return string(text)
}
