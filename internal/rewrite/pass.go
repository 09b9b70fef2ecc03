package rewrite

import "bytes"

// A pass goes once through a text, or through as much of it as is there.
type pass struct {
	text   []byte
	final  bool   // nothing comes after the text
	at     int    // what is before has been looked at
	state  uint32 // of the automaton there
	low    int    // no spot may begin before
	depth  int    // of serialized strings around the text
	frozen *frozen
}

// lookAhead is how much of a text must be there for something in it to be understood.
const lookAhead = maxAddress + maxHeader

// slide takes note that the beginning of the text is gone.
func (p *pass) slide(n int) {
	p.at, p.low = p.at-n, max(p.low-n, 0)
	if p.frozen != nil {
		p.frozen.slide(n)
	}
}

// skip goes on at an offset.
func (p *pass) skip(to int) { p.at, p.low, p.state = to, to, 0 }

// next gives the next spots of a text in their order, nil if there are no more in what is
// there.
func (r *Rewriter) next(p *pass) ([]Spot, error) {
	for {
		limit := len(p.text)
		if !p.final {
			limit = max(len(p.text)-lookAhead, p.at)
		}
		limit = p.frozen.limit(p, limit)
		n, word := r.words.find(p.text[p.at:limit], &p.state)
		p.at += n
		if word == noWord {
			if p.frozen.isOver(p) {
				p.frozen = nil
				continue
			}
			return nil, nil
		}
		begin := p.at - r.wordLengths[word]
		if word < r.addresses {
			spots, err := r.address(p, begin)
			if spots != nil || err != nil {
				return p.frozen.leave(spots), err
			}
			continue
		}
		spots, wait, err := r.serialized(p, begin)
		if wait {
			p.at, p.state = begin, 0
			return nil, nil
		}
		if spots != nil || err != nil {
			return spots, err
		}
	}
}

// address looks up the address whose host, or else first folder, is at an offset, if there
// is one.
func (r *Rewriter) address(p *pass, word int) ([]Spot, error) {
	b, ok := beginAt(p.text[:p.at], word)
	if !ok || b.at < p.low {
		return nil, nil
	}
	p.low = b.at + 1 // a longer word may begin there, too
	r.reading.read(b, p.text[b.at:])
	for end := range r.reading.ends {
		spot, err := r.lookUp(b, end)
		if err != nil || spot.Kind != Unknown {
			p.skip(spot.to)
			return []Spot{spot}, err
		}
	}
	end := r.reading.shortest()
	address := Canonical(string(r.reading.text[:end]))
	if !r.places.tell(address) {
		return nil, nil
	}
	text := bytes.Clone(r.reading.text[:end])
	return []Spot{{Kind: Unknown, Address: string(text), from: b.at, to: b.at + r.reading.raw[end]}}, nil
}

// lookUp looks up what was read up to an end: with its query, and without it. The query
// meant something to who answered there before; the fragment stays, because it means
// something to readers.
func (r *Rewriter) lookUp(b beginning, end int) (Spot, error) {
	text := r.reading.text[:end]
	if i := bytes.IndexByte(text, '#'); i >= 0 {
		text = text[:i]
	}
	if i := bytes.IndexByte(text, '?'); i >= 0 {
		spot, err := r.ask(b, text, len(text))
		if err != nil || spot.Kind != Unknown {
			return spot, err
		}
		return r.ask(b, text[:i], r.reading.queryEnd(i))
	}
	return r.ask(b, text, len(text))
}

// ask looks up an address that ends, with what goes with it, at an end.
func (r *Rewriter) ask(b beginning, text []byte, end int) (Spot, error) {
	spot := Spot{from: b.at, to: b.at + r.reading.raw[end]}
	address := Canonical(string(text))
	if !holds(r.places.old, address) && !holds(r.places.new, address) {
		return spot, nil
	}
	v, err := r.lookup.Find(address)
	if err != nil || v.Kind == Unknown {
		return spot, err
	}
	spot.Kind, spot.Why, spot.Address = v.Kind, v.Why, string(text)
	if v.Kind == Replaced {
		spot.New = b.spell(clean(v.New), r.reading.entities)
	}
	return spot, nil
}
