package blocks

import (
	"slices"
	"strings"

	"assetferry/internal/pattern"
)

// A document is a text in blocks.
type document struct {
	blocks []*block
	pieces []piece // the HTML between the delimiters of blocks, in order
	left   []Left
}

// A block is a part of a text between two delimiters, or one delimiter.
type block struct {
	name       string // without the namespace core
	attributes span   // with the white space after them; empty if there are none
	parent     *block
	pieces     []piece // of the block itself, without its inner blocks
	inner      []*block
	broken     bool // it has no end, or its attributes are invalid
	at         int
}

// A piece is HTML in one block, or outside of all blocks.
type piece struct {
	span
	block *block // nil outside of all blocks
	tags  []tag
}

// delimiter matches the comments that WordPress takes for delimiters.
var delimiter = pattern.Lazy(`(?s)<!--\s+(/)?wp:((?:[a-z][a-z0-9_-]*/)?[a-z][a-z0-9_-]*)\s+(\{.*?\}\s+)?(/)?-->`)

// maxDepth is the maximum depth of blocks, which is far more than the editor can show. It limits the
// time for hostile texts.
const maxDepth = 1000

// parse reads the blocks of a text. If they are too deep, none of them is certain.
func parse(text string) *document {
	d := &document{}
	var open []*block
	at, isDeep := 0, false
	for _, m := range delimiter().FindAllStringSubmatchIndex(text, -1) {
		d.piece(text, span{at, m[0]}, last(open))
		at = m[1]
		name := strings.TrimPrefix(text[m[4]:m[5]], "core/")
		if m[2] >= 0 {
			open = d.end(open, name, m[0])
			continue
		}
		b := &block{name: name, parent: last(open), at: m[0]}
		if m[6] >= 0 {
			b.attributes = span{m[6], m[7]}
			if !isObject(b.attributes.of(text)) {
				b.broken = true
				d.left = append(d.left, Left{Invalid, name, b.at})
			}
		}
		d.blocks = append(d.blocks, b)
		if b.parent != nil {
			b.parent.inner = append(b.parent.inner, b)
		}
		switch {
		case m[8] >= 0: // it has no end
		case len(open) == maxDepth:
			isDeep = true
		default:
			open = append(open, b)
		}
	}
	d.piece(text, span{at, len(text)}, last(open))
	d.breakAll(open)
	if isDeep {
		d.breakAll(d.blocks)
	}
	return d
}

func last(open []*block) *block {
	if len(open) == 0 {
		return nil
	}
	return open[len(open)-1]
}

// end ends the last block. WordPress ends it whatever the name, so that with another name, none of
// the open blocks is certain.
func (d *document) end(open []*block, name string, at int) []*block {
	if b := last(open); b != nil && b.name == name {
		return open[:len(open)-1]
	}
	d.breakAll(open)
	if n := slices.IndexFunc(open, func(b *block) bool { return b.name == name }); n >= 0 {
		return open[:n]
	}
	d.left = append(d.left, Left{Unbalanced, name, at})
	return open
}

// breakAll marks blocks whose ends are missing or unknown.
func (d *document) breakAll(open []*block) {
	for _, b := range open {
		if !b.broken {
			b.broken = true
			d.left = append(d.left, Left{Unbalanced, b.name, b.at})
		}
	}
}

func (d *document) piece(text string, s span, of *block) {
	if s.from == s.to {
		return
	}
	p := piece{s, of, tagsOf(text, s)}
	d.pieces = append(d.pieces, p)
	if of != nil {
		of.pieces = append(of.pieces, p)
	}
}
