package blocks

import (
	"cmp"
	"slices"
	"strings"

	"assetferry/internal/pattern"
)

// caption matches the beginning of the shortcode of an image with a caption.
var caption = pattern.Lazy(`\[(?:wp_)?caption(\s[^\]]*)\]`)

var captionEnd = pattern.Lazy(`\[/(?:wp_)?caption\]`)

var captionID = pattern.Lazy(`\sid=(?:"attachment_\d+"|'attachment_\d+'|attachment_\d+\b)`)

// otherMedia matches shortcodes that refer to media by ID and are not converted.
var otherMedia = pattern.Lazy(`\[(?:(playlist)(?:\s[^\]]*)?|(vc_single_image|vc_gallery|vc_images_carousel)\s[^\]]*\b(?:image|images)="[\d,]+"[^\]]*)\]`)

// captions removes the ID of each caption whose image is an asset, and reports other shortcodes.
func (c *converter) captions(p piece) {
	html := p.of(c.text)
	images := slices.DeleteFunc(slices.Clone(p.tags), func(t tag) bool { return t.name != "img" })
	ends := captionEnd().FindAllStringIndex(html, -1)
	for _, m := range caption().FindAllStringSubmatchIndex(html, -1) {
		for len(ends) > 0 && ends[0][0] < m[1] {
			ends = ends[1:]
		}
		if len(ends) == 0 {
			break
		}
		if isEscaped(html, m[0]) || !c.isOfAsset(images, span{p.from + m[1], p.from + ends[0][0]}) {
			continue
		}
		if id := captionID().FindStringIndex(html[m[2]:m[3]]); id != nil {
			at := p.from + m[2]
			c.remove(span{at + id[0], at + id[1]})
		}
	}
	for _, m := range otherMedia().FindAllStringSubmatchIndex(html, -1) {
		if name := submatch(html, m, 1) + submatch(html, m, 2); !isEscaped(html, m[0]) {
			c.leave(ByID, name, p.from+m[0])
		}
	}
}

func submatch(text string, m []int, n int) string {
	if m[2*n] < 0 {
		return ""
	}
	return text[m[2*n]:m[2*n+1]]
}

// isEscaped reports whether a shortcode is shown as text, because its bracket is doubled.
func isEscaped(text string, at int) bool { return at > 0 && text[at-1] == '[' }

// isOfAsset reports whether the first image in a part of a text is an asset.
func (c *converter) isOfAsset(images []tag, s span) bool {
	n, _ := slices.BinarySearchFunc(images, s.from, func(t tag, from int) int { return cmp.Compare(t.from, from) })
	return n < len(images) && images[n].to <= s.to && c.isAsset(images[n].value(c.text, "src"))
}

// gallery matches the shortcode of a gallery.
var gallery = pattern.Lazy(`\[gallery(\s[^\]]*)?\](?:\[/gallery\])?`)

// HasGallery reports whether a text may have a gallery shortcode.
func HasGallery(text string) bool { return gallery().MatchString(text) }

// ExpandGalleries replaces each gallery shortcode by the HTML that WordPress makes of it, which the
// rendered text contains. The HTML has URLs instead of IDs. All shortcodes of a text are replaced, or
// none, because WordPress numbers them. They stay if the result could look different, and if only some
// files have an asset, by an old or new URL.
func ExpandGalleries(text, rendered string, isAsset func(url string) bool) (expanded string, left []Left) {
	codes := shortcodes(text)
	if len(codes) == 0 {
		return text, nil
	}
	made := madeGalleries(rendered)
	if len(made) == len(codes) && !slices.ContainsFunc(made, func(m string) bool { return hasAsset(m, isAsset) }) {
		return text, nil
	}
	doc := parse(text)
	var edits []edit
	for n, code := range codes {
		replaced, ok := doc.aroundGallery(text, code)
		if !ok || len(made) != len(codes) || !hasOnlyAssets(made[n], isAsset) || !isStable(text, code, made[n], len(doc.blocks) > 0) {
			for _, code := range codes {
				left = append(left, Left{Gallery, "gallery", code.from})
			}
			return text, left
		}
		by := made[n]
		if replaced != code {
			by = "<!-- wp:html -->\n" + by + "\n<!-- /wp:html -->"
		}
		edits = append(edits, edit{replaced, by})
	}
	return apply(text, edits), nil
}

// shortcodes returns the gallery shortcodes of a text.
func shortcodes(text string) (all []span) {
	for _, m := range gallery().FindAllStringIndex(text, -1) {
		if !isEscaped(text, m[0]) {
			all = append(all, span{m[0], m[1]})
		}
	}
	return all
}

// aroundGallery returns the text to replace with a gallery: the shortcode, or the whole block of a
// shortcode. It is not ok inside of other blocks, which would not be valid with the HTML in them.
func (d *document) aroundGallery(text string, code span) (s span, ok bool) {
	for _, p := range d.pieces {
		if code.from < p.from || code.to > p.to {
			continue
		}
		b := p.block
		switch {
		case b == nil:
			return code, true
		case b.broken:
			return code, false
		case b.name == "html" || b.name == "freeform":
			return code, true
		case b.name == "shortcode" && len(b.pieces) == 1 && strings.TrimSpace(p.of(text)) == code.of(text):
			return span{b.at, p.to + strings.Index(text[p.to:], "-->") + len("-->")}, true
		}
		return code, false
	}
	return code, false
}

// isStable reports whether a gallery looks the same without its shortcode. In a text without blocks,
// WordPress makes paragraphs, except around the elements of a gallery on lines of its own. A random
// order would become a fixed one.
func isStable(text string, code span, made string, hasBlocks bool) bool {
	if strings.Contains(strings.ToLower(code.of(text)), "rand") {
		return false
	}
	if hasBlocks {
		return true
	}
	before, after := strings.TrimRight(text[:code.from], " \t\r"), strings.TrimLeft(text[code.to:], " \t\r")
	return (before == "" || strings.HasSuffix(strings.ReplaceAll(before, "\r", ""), "\n\n")) &&
		(after == "" || after == "\n" || strings.HasPrefix(strings.ReplaceAll(after, "\r", ""), "\n\n")) &&
		!strings.Contains(made, "<br") && !strings.Contains(made, "<style")
}

var (
	galleryStart = pattern.Lazy(`(?s)(?:<style[^>]*>[^<]*</style>\s*)?<div id=["']gallery-\d+["'] class=["']gallery [^>]*>`)
	divTag       = pattern.Lazy(`<(/?)div[\s>]`)
	lineBreak    = pattern.Lazy(`\s*[\r\n]\s*`)
	// White space at the elements of a gallery is not shown, and WordPress would make paragraphs of it.
	beforeElement = pattern.Lazy(`\s+(</?(?:div|dl|dt|dd|figure|figcaption)\b)`)
	afterElement  = pattern.Lazy(`(</?(?:div|dl|dt|dd|figure|figcaption)\b[^>]*>)\s+`)
)

// madeGalleries returns the HTML of the galleries in a rendered text, each on one line.
func madeGalleries(rendered string) (all []string) {
	for {
		m := galleryStart().FindStringIndex(rendered)
		if m == nil {
			return all
		}
		depth, end := 1, -1
		for _, d := range divTag().FindAllStringSubmatchIndex(rendered[m[1]:], -1) {
			if depth++; d[2] < d[3] {
				depth -= 2
			}
			if depth == 0 {
				end = m[1] + d[0] + len("</div>")
				break
			}
		}
		if end < 0 || end > len(rendered) {
			return nil
		}
		all = append(all, oneLine(rendered[m[0]:end]))
		rendered = rendered[end:]
	}
}

// oneLine returns the HTML of a gallery without line breaks.
func oneLine(made string) string {
	made = beforeElement().ReplaceAllString(afterElement().ReplaceAllString(made, "$1"), "$1")
	return lineBreak().ReplaceAllString(made, " ")
}

// hasOnlyAssets reports whether HTML has images, all of them assets.
func hasOnlyAssets(made string, isAsset func(url string) bool) bool {
	urls := imageURLs(made)
	return len(urls) > 0 && !slices.ContainsFunc(urls, func(url string) bool { return !isAsset(url) })
}

// hasAsset reports whether HTML has an image that is an asset.
func hasAsset(made string, isAsset func(url string) bool) bool {
	return slices.ContainsFunc(imageURLs(made), isAsset)
}

func imageURLs(made string) (urls []string) {
	for _, t := range tagsOf(made, span{0, len(made)}) {
		if t.name == "img" {
			urls = append(urls, t.value(made, "src"))
		}
	}
	return urls
}
