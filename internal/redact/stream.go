package redact

const (
	// tail is the number of characters of an unfinished text that are held back: the maximum length
	// of a stretch before it is removed, and one run more.
	tail = words + run
	// maxHeld is how many bytes are held back at the most.
	maxHeld = 2 << 10
)

// A Stream removes secrets from a text that arrives in parts and is shown immediately. The parts
// may be too short to contain a secret, so the last characters wait for the next part.
type Stream struct {
	redactor *Redactor
	held     string
}

// Stream returns a stream.
func (r *Redactor) Stream() *Stream { return &Stream{redactor: r} }

// Add adds a part, and returns the text that can be shown.
func (s *Stream) Add(piece string) (shown string) {
	s.held += piece
	if s.redactor == nil {
		return s.End()
	}
	x := s.redactor.current.Load()
	if x == nil || len(s.held) > maxHeld {
		return s.End()
	}
	cut := min(x.lastBegins(s.held, false), x.lastBegins(s.held, true))
	shown = s.redactor.Text(s.held[:cut])
	if shown+s.redactor.Text(s.held[cut:]) != s.redactor.Text(s.held) { // a secret continues after it
		return ""
	}
	s.held = s.held[cut:]
	return shown
}

// End returns the rest of the text.
func (s *Stream) End() (shown string) {
	shown, s.held = s.redactor.Text(s.held), ""
	return shown
}

// lastBegins returns the offset of the last characters that are held back.
func (x *index) lastBegins(text string, raw bool) int {
	var begins [tail]int
	w := walker{index: x, text: text, raw: raw}
	for w.next() {
		begins[w.count%tail] = w.begins[(w.count-1)%run]
	}
	if w.count < tail {
		return 0
	}
	return begins[(w.count+1)%tail]
}
