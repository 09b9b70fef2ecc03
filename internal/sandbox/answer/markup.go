package answer

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A piece is a part of HTML. All pieces together are the original bytes.
type piece struct {
	raw   string
	text  bool             // visible text
	block bool             // the tag begins or ends a block
	name  string           // of the element
	start bool             // start of an element with an end tag
	end   bool             // end of an element
	attr  []html.Attribute // of a start tag, decoded
	first bool             // first visible text of its block
	last  bool             // last visible text of its block
}

// pieces splits HTML. Other text is one piece.
func pieces(page string) []piece {
	var all []piece
	z := html.NewTokenizer(strings.NewReader(page))
	hidden := ""
	for at := 0; at < len(page); {
		kind := z.Next()
		size := len(z.Raw()) // before Token, which decodes in place
		if kind == html.ErrorToken || size == 0 {
			all = append(all, piece{raw: page[at:]}) // an unclosed tag
			break
		}
		p := pieceOf(z.Token())
		p.raw = page[at : at+size]
		p.text = kind == html.TextToken && hidden == ""
		if isHidden(p.name) {
			hidden = ""
			if p.start {
				hidden = p.name
			}
		}
		all, at = append(all, p), at+size
	}
	markEnds(all)
	return all
}

func pieceOf(t html.Token) piece {
	switch t.Type {
	case html.StartTagToken, html.SelfClosingTagToken:
		return piece{name: t.Data, attr: t.Attr, block: !isInline(t.DataAtom), start: t.Type == html.StartTagToken && !isVoid(t.DataAtom)}
	case html.EndTagToken:
		return piece{name: t.Data, block: !isInline(t.DataAtom), end: true}
	}
	return piece{}
}

// markEnds marks the first and last text of each block.
func markEnds(all []piece) {
	last := -1
	for i := range all {
		switch p := &all[i]; {
		case p.text && strings.TrimSpace(p.raw) != "":
			p.first, p.last = last < 0, true
			if last >= 0 {
				all[last].last = false
			}
			last = i
		case p.block:
			last = -1
		}
	}
}

// edit changes the visible text and keeps all other bytes.
func edit(page string, change func(piece) string) string {
	var b strings.Builder
	for _, p := range pieces(page) {
		if p.text && strings.TrimSpace(p.raw) != "" {
			b.WriteString(change(p))
			continue
		}
		b.WriteString(p.raw)
	}
	return b.String()
}

// isMarkup reports whether text is HTML.
func isMarkup(text string) bool {
	return slices.ContainsFunc(pieces(text), func(p piece) bool { return p.name != "" })
}

// isHidden reports whether the content of an element is not visible.
func isHidden(name string) bool {
	switch name {
	case "script", "style", "template", "noscript", "title", "textarea", "iframe":
		return true
	}
	return false
}

func isInline(a atom.Atom) bool {
	switch a {
	case 0, atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Em, atom.I, atom.Kbd, atom.Mark, atom.Q,
		atom.S, atom.Samp, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.U, atom.Var, atom.Wbr, atom.Img, atom.Del, atom.Ins:
		return true
	}
	return false
}

func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// An element is a complete element with a data-id.
type element struct {
	id, html string
}

// elements returns the outermost elements with a data-id.
func elements(page string) []element {
	var found []element
	all := pieces(page)
	ends := ends(all)
	for i := 0; i < len(all); i++ {
		id, ok := dataID(all[i])
		if !ok {
			continue
		}
		var b strings.Builder
		for _, p := range all[i:ends[i]] {
			b.WriteString(p.raw)
		}
		found = append(found, element{id, b.String()})
		i = ends[i] - 1
	}
	return found
}

func dataID(p piece) (string, bool) {
	for _, a := range p.attr {
		if a.Key == "data-id" && a.Val != "" {
			return a.Val, true
		}
	}
	return "", false
}

// ends returns for each tag the index after its element. An unclosed element ends before the
// next one with a data-id.
func ends(all []piece) []int {
	end, open := make([]int, len(all)), map[string][]int{}
	for i, p := range all {
		switch {
		case p.start:
			open[p.name] = append(open[p.name], i)
		case p.end && len(open[p.name]) > 0:
			last := len(open[p.name]) - 1
			end[open[p.name][last]], open[p.name] = i+1, open[p.name][:last]
		}
	}
	next := len(all)
	for i := len(all) - 1; i >= 0; i-- {
		if end[i] == 0 {
			end[i] = i + 1
			if all[i].start {
				end[i] = next
			}
		}
		if _, ok := dataID(all[i]); ok {
			next = i
		}
	}
	return end
}
