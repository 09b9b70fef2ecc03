package blocks

import (
	"regexp"
	"slices"
	"strings"

	"assetferry/internal/pattern"
)

// A mediaBlock is a block of WordPress that refers to media by ID. The editor makes its HTML from its
// attributes, and compares: classes by ID must be removed with the ID, and nothing may be added.
type mediaBlock struct {
	ids     []string       // the attributes with IDs
	url     string         // the attribute with the URL, or "" if only the HTML has it
	classes *regexp.Regexp // of the HTML, which depend on the ID
}

var (
	imageClass = pattern.Lazy(`^wp-image-\d+$`)
	sizedClass = pattern.Lazy(`^(wp-image-\d+|size-[a-z0-9_-]+)$`)
)

// mediaBlockOf returns the kind of a block with media.
func mediaBlockOf(name string) (kind mediaBlock, ok bool) {
	switch name {
	case "image", "video", "audio":
		return mediaBlock{[]string{"id"}, "", imageClass()}, true
	case "gallery":
		return mediaBlock{[]string{"ids"}, "", imageClass()}, true
	case "media-text": // its size is a class only together with an ID
		return mediaBlock{[]string{"mediaId"}, "", sizedClass()}, true
	case "cover":
		return mediaBlock{[]string{"id"}, "url", imageClass()}, true
	case "file":
		return mediaBlock{[]string{"id"}, "href", imageClass()}, true
	}
	return kind, false
}

// freeBlocks are the blocks whose HTML may contain images of any form: the editor keeps their text as
// it is.
var freeBlocks = [...]string{
	"freeform", "html", "shortcode", "paragraph", "heading", "list", "list-item", "quote", "pullquote", "verse", "preformatted", "table", "details",
}

// isFree reports whether a piece of HTML may contain images of any form.
func (p piece) isFree() bool {
	return p.block == nil || !p.block.broken && slices.Contains(freeBlocks[:], p.block.name)
}

// block removes the IDs of a block whose media are all assets.
func (c *converter) block(b *block) {
	kind, ok := mediaBlockOf(b.name)
	if !ok || b.broken {
		return
	}
	attributes := b.attributes.of(c.text)
	switch found, all := c.media(b, kind.url); {
	case found && all:
	case found && b.name == "gallery" && c.hasAsset(b):
		c.leave(Mixed, b.name, b.at)
		return
	default:
		return
	}
	text, removed := without(attributes, kind.ids)
	if removed > 0 {
		if b.name == "cover" {
			text = c.fitField(text, kind.url)
		}
		c.replace(b.attributes, text)
		c.result.IDs += removed
	}
	for _, p := range b.pieces {
		for _, t := range p.tags {
			c.removeClasses(t, kind.classes)
			if removed > 0 {
				c.fit(t)
			}
			if t.name == "img" && t.attribute("data-id") != nil {
				c.removeAttribute(t, "data-id")
				c.result.IDs++
			}
		}
	}
}

// media reports whether a block has media, and whether all of them are assets. A gallery has those of
// its images, too.
func (c *converter) media(b *block, attribute string) (found, all bool) {
	all = true
	for _, url := range c.mediaURLs(b, attribute) {
		found, all = true, all && c.isAsset(url)
	}
	if b.name == "gallery" {
		for _, i := range b.inner {
			f, a := c.media(i, "")
			found, all = found || f, all && a
		}
	}
	return found, all
}

// hasAsset reports whether an asset is among the media of a gallery.
func (c *converter) hasAsset(b *block) bool {
	return slices.ContainsFunc(c.mediaURLs(b, ""), c.isAsset) || slices.ContainsFunc(b.inner, c.hasAsset)
}

// mediaURLs returns the URLs of the media of a block: of its attribute, or else of its HTML.
func (c *converter) mediaURLs(b *block, attribute string) (urls []string) {
	if attribute != "" {
		if url := stringField(b.attributes.of(c.text), attribute); url != "" {
			return []string{url}
		}
		return nil
	}
	for _, p := range b.pieces {
		for _, t := range p.tags {
			switch t.name {
			case "img", "video", "audio":
				if url := t.value(c.text, "src"); url != "" {
					urls = append(urls, url)
				}
			}
		}
	}
	return urls
}

// removeAttribute removes an attribute and its repetitions, which browsers ignore only after the first.
func (c *converter) removeAttribute(t tag, name string) {
	for _, a := range t.attributes {
		if a.name == name {
			c.replace(a.span, "")
		}
	}
}

// removeClasses removes classes from a tag, and the attribute if no class is left.
func (c *converter) removeClasses(t tag, which *regexp.Regexp) (removed bool) {
	a := t.attribute("class")
	if a == nil {
		return false
	}
	var kept []string
	ids := 0
	for _, class := range strings.Fields(a.value.of(c.text)) {
		if imageClass().MatchString(class) {
			ids++
		}
		if !which.MatchString(class) {
			kept = append(kept, class)
		}
	}
	switch {
	case ids == 0:
		return false
	case len(kept) == 0:
		c.removeAttribute(t, "class")
	default:
		c.replace(a.value, strings.Join(kept, " "))
	}
	c.result.IDs += ids
	return true
}
