package rewrite

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// serialized returns the spots of the serialized string that begins at an offset. It waits if the
// string is incomplete.
func (r *Rewriter) serialized(p *pass, begin int) (spots []Spot, wait bool, err error) {
	s, ok := headerAt(p.text, begin)
	if !ok || p.frozen != nil {
		return nil, false, nil
	}
	if s.length > r.maxSerialized {
		p.freeze(s)
		return nil, false, nil
	}
	f, end, found := s.find(p, s.content+2*r.maxSerialized)
	switch {
	case found == itWaits:
		return nil, true, nil
	case found == itIsLong:
		p.freeze(s)
		return nil, false, nil
	case found == itIsNot:
		return r.wrong(p, s)
	}
	spots, err = r.within(p, s.content, end)
	p.skip(end)
	return s.corrected(p.text, f, spots), false, err
}

// A finding is the result of the search for the end of a serialized string.
type finding int

const (
	itIs     finding = iota
	itIsNot          // not at the offset given by the length
	itIsLong         // beyond the limit
	itWaits          // more text is needed
)

// find finds the end of a serialized string, by the first form that agrees with the length.
func (s *serialized) find(p *pass, most int) (f form, end int, found finding) {
	text, all := p.text, p.final
	if all && s.length > len(text)-s.content { // no form has fewer bytes than PHP
		return f, 0, itIsNot
	}
	if len(text) >= most {
		text, all = text[:most], false
	}
	for _, f := range s.forms {
		w := walk{form: f, at: s.content, left: s.length}
		switch arrived := w.to(text, all); {
		case arrived && s.isAt(text, w.at):
			return f, w.at, itIs
		case !arrived && len(text) == most:
			return f, 0, itIsLong
		case !all && (!arrived || w.at+len(s.quote)+len(s.closing) > len(text)):
			return f, 0, itWaits
		}
	}
	return f, 0, itIsNot
}

// within returns the spots in the content of a serialized string.
func (r *Rewriter) within(p *pass, begin, end int) (all []Spot, err error) {
	if c, ok := r.candidate(p); p.depth == maxDepth || (!ok || c.at >= end) && end <= p.bound() {
		return nil, nil
	}
	inner := &pass{text: p.text[begin:end], final: true, depth: p.depth + 1}
	for {
		spots, err := r.next(inner)
		if spots == nil || err != nil {
			return all, err
		}
		if all == nil {
			all = make([]Spot, 0, 4) // with a place for the length
		}
		for _, s := range spots {
			s.from, s.to = s.from+begin, s.to+begin
			all = append(all, s)
		}
	}
}

// corrected returns the spots of a serialized string, preceded by its new length if that changes.
func (s *serialized) corrected(text []byte, f form, spots []Spot) []Spot {
	length := s.length
	for _, spot := range spots {
		if spot.changes() {
			length += f.length(spot.New) - f.length(text[spot.from:spot.to])
		}
	}
	if length == s.length {
		return spots
	}
	digits := Spot{Kind: Length, New: strconv.AppendInt(nil, int64(length), 10), from: s.digits, to: s.digitsEnd}
	return slices.Insert(spots, 0, digits)
}

// wrong returns the spots of a string that does not end at the offset given by its length. Either may
// be wrong, so old URLs in it stay.
func (r *Rewriter) wrong(p *pass, s serialized) (spots []Spot, wait bool, err error) {
	const more = 1024 // bytes beyond its length
	most := s.content + 2*s.length + more
	if !p.final && len(p.text) < most {
		return nil, true, nil
	}
	n := bytes.Index(p.text[s.content:min(most, len(p.text))], append(bytes.Clone(s.quote), s.closing...))
	if n < 0 { // not a serialized string
		return nil, false, nil
	}
	all, err := r.within(p, s.content, s.content+n)
	changes := false
	for _, spot := range all {
		changes = changes || spot.changes()
		if spot.Kind != Length {
			spots = append(spots, spot.left(WrongLength))
		}
	}
	if err != nil || !changes {
		return nil, false, err
	}
	p.skip(s.content + n)
	return spots, false, nil
}

// left returns a spot without a replacement.
func (s Spot) left(why string) Spot {
	if s.changes() {
		s.Kind, s.New, s.Why = Left, nil, why
	}
	return s
}

// A frozen piece of a text is a serialized string beyond the limit. Nothing is replaced up to its end,
// which is searched in all forms at once. If no form agrees with the length, that is the end of the
// text.
type frozen struct {
	serialized
	walks []walk
	end   int // -1 if unknown
}

func (p *pass) freeze(s serialized) {
	s.quote = bytes.Clone(s.quote) // the text moves
	p.frozen = &frozen{serialized: s, end: -1}
	for _, f := range s.forms {
		p.frozen.walks = append(p.frozen.walks, walk{form: f, at: s.content, left: s.length})
	}
}

func (f *frozen) slide(n int) {
	for i := range f.walks {
		f.walks[i].at -= n
	}
	if f.end >= 0 && f.end < math.MaxInt {
		f.end -= n
	}
}

// limit returns the offset up to which a pass stays in a frozen piece.
func (f *frozen) limit(p *pass, limit int) int {
	if f == nil {
		return limit
	}
	if f.end < 0 {
		f.lookFor(p)
	}
	if f.end >= 0 {
		return min(limit, max(f.end, p.at))
	}
	for _, w := range f.walks {
		limit = min(limit, max(w.at, p.at))
	}
	return limit
}

// lookFor searches the available text for the end.
func (f *frozen) lookFor(p *pass) {
	var on []walk
	for _, w := range f.walks {
		switch arrived := w.to(p.text, p.final); {
		case arrived && f.isAt(p.text, w.at):
			if f.end < 0 || w.at < f.end {
				f.end = w.at
			}
		case !arrived && !p.final:
			on = append(on, w)
		}
	}
	if f.walks = on; len(on) == 0 && f.end < 0 {
		f.end = math.MaxInt
	}
}

// isOver reports whether a pass has left a frozen piece.
func (f *frozen) isOver(p *pass) bool { return f != nil && f.end >= 0 && p.at >= f.end }

// leave removes the replacements of spots in a frozen piece.
func (f *frozen) leave(spots []Spot) []Spot {
	if f != nil {
		for i, s := range spots {
			spots[i] = s.left(TooLong)
		}
	}
	return spots
}
