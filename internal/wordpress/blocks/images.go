package blocks

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// piece converts the images and captions of a piece of HTML outside of blocks with media.
func (c *converter) piece(p piece) {
	if p.isFree() {
		for _, t := range p.tags {
			if t.name == "img" {
				c.image(t)
			}
		}
		c.captions(p)
		return
	}
	if _, isMedia := mediaBlockOf(p.block.name); isMedia || p.block.broken {
		return
	}
	for _, t := range p.tags {
		if t.name == "img" && hasImageClass(c.text, t) && c.isAsset(t.value(c.text, "src")) {
			c.leave(Foreign, p.block.name, p.block.at)
			return
		}
	}
}

func hasImageClass(text string, t tag) bool {
	for class := range strings.FieldsSeq(t.value(text, "class")) {
		if imageClass().MatchString(class) {
			return true
		}
	}
	return false
}

// image removes the ID of an image, and sets the widths of its asset in the place of those that
// WordPress would add for the ID.
func (c *converter) image(t tag) {
	src := t.value(c.text, "src")
	widths, ok := c.lookup(src)
	if !ok {
		return
	}
	set := t.attribute("srcset")
	hadID := c.removeClasses(t, imageClass())
	if len(widths) < 2 || !hadID && set == nil {
		return
	}
	value := html.EscapeString(srcset(widths))
	switch {
	case set == nil:
		text := fmt.Sprintf(` srcset="%s"`, value)
		if t.attribute("sizes") == nil {
			text += fmt.Sprintf(` sizes="%s"`, sizes(c.displayed(t, src, widths)))
		}
		at := t.attribute("src").to
		c.replace(span{at, at}, text)
	case set.value.of(c.text) == value:
		return
	default:
		c.replace(set.value, value)
	}
	c.result.Sets++
}

// srcset returns the widths in the syntax of HTML.
func srcset(widths []Width) string {
	all := make([]string, len(widths))
	for n, w := range widths {
		all[n] = fmt.Sprintf("%s %dw", w.URL, w.Pixels)
	}
	return strings.Join(all, ", ")
}

// sizes returns the value that WordPress gives an image of this width.
func sizes(pixels int) string { return fmt.Sprintf("(max-width: %dpx) 100vw, %[1]dpx", pixels) }

// displayed returns the width that an image is shown in: its attribute, or else its own width.
func (c *converter) displayed(t tag, src string, widths []Width) (pixels int) {
	if n, err := strconv.Atoi(t.value(c.text, "width")); err == nil && n > 0 {
		return n
	}
	for _, w := range widths {
		if w.URL == src {
			return w.Pixels
		}
		pixels = max(pixels, w.Pixels)
	}
	return pixels
}
