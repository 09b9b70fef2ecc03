package paging

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"

	"assetferry/internal/jsonscan"
	"assetferry/internal/outbound"
)

// windowSize is more than the size of most items in JSON. Larger items are not parsed.
const windowSize = 16 << 10

// windows holds windows for reuse.
var windows = sync.Pool{New: func() any { return new([windowSize]byte) }}

// parseItems parses items up to the end of the list, or to the first item of an unusual form. The
// decoder, which has read the beginning of the list, continues there. It scans each item twice, and
// decodes it with reflection, which took a third of the processor time of a verification.
func (p *Page[T]) parseItems(d *json.Decoder, in *outbound.Meter, all *pieces[T]) error {
	window := windows.Get().(*[windowSize]byte)
	defer windows.Put(window)
	rest := io.MultiReader(d.Buffered(), in)
	s := jsonscan.New(nil)
	for none := true; ; {
		end := *s // of the last item
		if (none || s.Skip(',')) && p.parseItem(s, all) {
			none = false
			p.read++
			in.Next()
			continue
		}
		if !s.IsCutOff() || !refill(&end, window, rest) {
			return p.resume(d, none, io.MultiReader(bytes.NewReader(bytes.Clone(end.Rest())), rest))
		}
		*s = end
	}
}

// refill removes the text that was read, and fills the window with the text that follows. It returns
// false if nothing follows, if the window is full, or for an error, which the next read repeats.
func refill(s *jsonscan.Scanner, window *[windowSize]byte, in io.Reader) bool {
	kept := copy(window[:], s.Rest())
	n, _ := io.ReadFull(in, window[kept:])
	*s = *jsonscan.New(window[:kept+n])
	return n > 0
}

func (p *Page[T]) parseItem(s *jsonscan.Scanner, all *pieces[T]) bool {
	if p.Wanted != nil {
		begin := *s
		if item, ok := s.Value(); !ok || !p.Wanted(item) {
			return ok
		}
		*s = begin
	}
	ok := p.Parse(s, all.next())
	if !ok {
		all.drop()
	}
	return ok
}

// resume lets the decoder read the rest of the answer as if it had read the beginning of the list,
// and an item unless there was none.
func (p *Page[T]) resume(d *json.Decoder, none bool, rest io.Reader) error {
	before, tokens := `{"items":[`, 3
	if p.plain {
		before, tokens = `[`, 1
	}
	if !none {
		before, tokens = before+`[]`, tokens+2
	}
	*d = *json.NewDecoder(io.MultiReader(strings.NewReader(before), rest))
	for range tokens {
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	return nil
}
