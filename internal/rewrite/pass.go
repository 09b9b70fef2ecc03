package rewrite

import "bytes"

// A pass reads a text once, in the pieces that are available.
type pass struct {
	text   []byte
	final  bool   // the text is complete
	at     int    // the text before this offset is done
	state  uint32 // of the automaton at this offset
	low    int    // the lowest offset of the next spot
	depth  int    // of serialized strings around the text
	frozen *frozen
}

// lookAhead is the number of bytes that must be available after an offset to parse it.
const lookAhead = maxURLLength + maxHeader

// slide removes n bytes from the beginning of the text.
func (p *pass) slide(n int) {
	p.at, p.low = p.at-n, max(p.low-n, 0)
	if p.frozen != nil {
		p.frozen.slide(n)
	}
}

// skip continues at an offset.
func (p *pass) skip(to int) { p.at, p.low, p.state = to, to, 0 }

// next returns the next spots of a text in order, or nil if the available text has no more.
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
		if word < r.urlWords {
			spots, err := r.urlAt(p, begin)
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

// urlAt looks up the URL whose host, or else first folder, is at an offset.
func (r *Rewriter) urlAt(p *pass, word int) ([]Spot, error) {
	b, ok := beginAt(p.text[:p.at], word)
	if !ok || b.at < p.low {
		return nil, nil
	}
	p.low = b.at + 1 // a longer word may begin at the same offset
	r.reading.read(b, p.text[b.at:])
	for end := range r.reading.ends {
		spot, err := r.lookUp(b, end)
		if err != nil || spot.Kind != Unknown {
			p.skip(spot.to)
			return []Spot{spot}, err
		}
	}
	end := r.reading.shortest()
	url := Canonical(string(r.reading.text[:end]))
	if !r.places.isReported(url) {
		return nil, nil
	}
	text := bytes.Clone(r.reading.text[:end])
	return []Spot{{Kind: Unknown, URL: string(text), from: b.at, to: b.at + r.reading.raw[end]}}, nil
}

// lookUp looks up a URL with a given end, with its query and without it. The query was for the old
// server; the fragment is for the browser, and stays.
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

// ask looks up a URL with a given end.
func (r *Rewriter) ask(b beginning, text []byte, end int) (Spot, error) {
	spot := Spot{from: b.at, to: b.at + r.reading.raw[end]}
	url := Canonical(string(text))
	if !holds(r.places.old, url) && !holds(r.places.new, url) {
		return spot, nil
	}
	v, err := r.lookup.Find(url)
	if err != nil || v.Kind == Unknown {
		return spot, err
	}
	spot.Kind, spot.Why, spot.URL = v.Kind, v.Why, string(text)
	if v.Kind == Replaced {
		spot.New = b.spell(clean(v.New), r.reading.entities)
	}
	return spot, nil
}
