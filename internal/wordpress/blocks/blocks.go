// Package blocks removes the references by ID from the content of WordPress posts whose URLs already
// are those of assets: attributes of blocks, classes of images, and shortcodes.
//
// WordPress looks up such an ID when it shows a post, and adds the widths of its own files to the
// image. [Convert] removes the ID, and adds the widths of the asset where the markup allows it. The
// result is valid for the block editor: the attributes of a block and its HTML agree. All other text
// keeps its bytes.
package blocks

import (
	"cmp"
	"strings"

	"assetferry/internal/sorting"
)

// A Width is an image of an asset in one width.
type Width struct {
	Pixels int
	URL    string
}

// A Lookup returns the widths of an asset by one of its URLs. It is not ok for a URL of no asset.
// Assets that are not images have no widths.
type Lookup func(url string) (widths []Width, ok bool)

// Reasons why references by ID stay.
const (
	Unbalanced = "unbalanced_block"   // a block without its beginning or end
	Invalid    = "invalid_attributes" // a block whose attributes are not JSON
	Foreign    = "foreign_block"      // a block of a plugin or theme, with unknown attributes
	Mixed      = "mixed_gallery"      // a gallery with files that have no asset
	Gallery    = "gallery_shortcode"  // a gallery whose HTML cannot replace its shortcode
	ByID       = "id_shortcode"       // a shortcode of other media
)

// A Left is a reference by ID that stays.
type Left struct {
	Why  string
	What string // the name of the block or shortcode
	At   int    // offset in the text
}

// A Result is a converted text.
type Result struct {
	Text string
	IDs  int // removed references
	Sets int // images that have the widths of their asset now
	Left []Left
}

// Convert converts a text whose old URLs are already replaced.
func Convert(text string, lookup Lookup) Result {
	c := &converter{text: text, lookup: lookup}
	doc := parse(text)
	c.result.Left = doc.left
	for _, b := range doc.blocks {
		c.block(b)
	}
	for _, p := range doc.pieces {
		c.piece(p)
	}
	sorting.Stable(c.result.Left, func(a, b Left) int { return cmp.Compare(a.At, b.At) })
	c.result.Text = apply(text, c.edits)
	return c.result
}

// A converter collects the edits of a text.
type converter struct {
	text   string
	lookup Lookup
	edits  []edit
	result Result
}

// An edit replaces a part of a text.
type edit struct {
	span
	by string
}

// A span is a part of a text.
type span struct{ from, to int }

func (s span) of(text string) string { return text[s.from:s.to] }

// apply applies edits, which do not overlap.
func apply(text string, edits []edit) string {
	if len(edits) == 0 {
		return text
	}
	sorting.By(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.from])
		b.WriteString(e.by)
		at = e.to
	}
	b.WriteString(text[at:])
	return b.String()
}

func (c *converter) replace(s span, by string) { c.edits = append(c.edits, edit{s, by}) }

// remove removes a reference by ID.
func (c *converter) remove(s span) {
	c.replace(s, "")
	c.result.IDs++
}

func (c *converter) leave(why, what string, at int) {
	c.result.Left = append(c.result.Left, Left{why, what, at})
}

// isAsset reports whether a URL is that of an asset.
func (c *converter) isAsset(url string) bool {
	_, ok := c.lookup(url)
	return ok
}
