package rewrite

import "bytes"

// A pass reads a text once, in the pieces that are available.
type pass struct {
	text     []byte
	final    bool // the text is complete
	at       int  // the text before this offset is done
	low      int  // the lowest offset of the next spot
	depth    int  // of serialized strings around the text
	frozen   *frozen
	searches [marks]search
}

// lookAhead is the number of bytes that must be available after an offset to parse it.
const lookAhead = maxURLLength + maxHeader

// bound returns the offset up to which the available text can be parsed.
func (p *pass) bound() int {
	if p.final {
		return len(p.text)
	}
	return max(len(p.text)-lookAhead, p.at)
}

// slide removes n bytes from the beginning of the text.
func (p *pass) slide(n int) {
	p.at, p.low = p.at-n, max(p.low-n, 0)
	for i := range p.searches {
		p.searches[i].next.at -= n
		p.searches[i].next.begin -= n
	}
	if p.frozen != nil {
		p.frozen.slide(n)
	}
}

// skip continues at an offset.
func (p *pass) skip(to int) { p.at, p.low = to, to }

// next returns the next spots of a text in order, or nil if the available text has no more. They are
// valid until it is called again.
func (r *Rewriter) next(p *pass) (spots []Spot, err error) {
	for {
		limit := p.frozen.limit(p, p.bound())
		c, ok := r.candidate(p)
		if !ok || c.at >= limit {
			p.at = limit
			if p.frozen.isOver(p) {
				p.frozen = nil
				continue
			}
			return nil, nil
		}
		p.at = c.at + 1
		switch wait := false; {
		case !c.serialized:
			spots, err = r.urlAt(p, c.begin)
			spots = p.frozen.leave(spots)
		case c.begin >= p.low:
			if spots, wait, err = r.serialized(p, c.begin); wait {
				p.at = c.at
				return nil, nil
			}
		}
		if spots != nil || err != nil {
			return spots, err
		}
	}
}

// urlAt looks up the URL whose host, or else first folder, is at an offset.
func (r *Rewriter) urlAt(p *pass, word int) ([]Spot, error) {
	b, ok := beginAt(p.text, word)
	if !ok || b.at < p.low {
		return nil, nil
	}
	p.low = b.at + 1
	r.reading.read(b, p.text[b.at:])
	for end := range r.reading.ends {
		spot, err := r.lookUp(b, end)
		if err != nil || spot.Kind != Unknown {
			p.skip(spot.to)
			r.spot[0] = spot
			return r.spot[:], err
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
	whole := string(text)
	url := Canonical(whole)
	if !holds(r.places.old, url) && !holds(r.places.new, url) {
		return spot, nil
	}
	v, err := r.lookup.Find(url)
	if err != nil || v.Kind == Unknown {
		return spot, err
	}
	spot.Kind, spot.Why, spot.URL = v.Kind, v.Why, whole
	if v.Kind == Replaced {
		if !v.clean {
			v.New = clean(v.New)
		}
		n := len(r.spelled)
		r.spelled = b.appendURL(r.spelled, v.New, r.reading.entities)
		spot.New = r.spelled[n:len(r.spelled):len(r.spelled)]
	}
	return spot, nil
}
