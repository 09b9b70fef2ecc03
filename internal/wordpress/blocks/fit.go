package blocks

import (
	"encoding/json"
	"html"
	"slices"
	"strings"
)

// maxShown is the widest file that WordPress lets browsers choose by default. Blocks cannot list
// widths, so that without an ID a browser would load the original of any size.
const maxShown = 2048

// fitting returns the URL of the image that a block shows instead of a whole file that is wider than
// maxShown; "" if the file stays.
func (c *converter) fitting(url string) string {
	widths, _ := c.lookup(url)
	if len(widths) == 0 || widths[len(widths)-1].Pixels <= maxShown || slices.ContainsFunc(widths, func(w Width) bool { return w.URL == url }) {
		return ""
	}
	n := slices.IndexFunc(widths, func(w Width) bool { return w.Pixels >= maxShown })
	return widths[n].URL
}

// fit replaces the file that a tag of a block shows. Links keep it.
func (c *converter) fit(t tag) {
	if by := c.fitting(t.value(c.text, "src")); by != "" && t.name == "img" {
		c.replace(t.attribute("src").value, html.EscapeString(by))
	}
	style := t.attribute("style")
	if style == nil {
		return
	}
	_, rest, found := strings.Cut(style.value.of(c.text), "url(")
	url, _, ended := strings.Cut(rest, ")")
	if by := c.fitting(html.UnescapeString(url)); by != "" && found && ended {
		at := style.value.to - len(rest)
		c.replace(span{at, at + len(url)}, html.EscapeString(by))
	}
}

// fitField replaces the file in a field of the attributes of a block, which the editor compares with
// the HTML.
func (c *converter) fitField(object, name string) string {
	by := c.fitting(stringField(object, name))
	if by == "" {
		return object
	}
	decoder := json.NewDecoder(strings.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return object
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return object
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return object
		}
		if end := int(decoder.InputOffset()); key == name {
			return object[:end-len(value)] + `"` + by + `"` + object[end:]
		}
	}
	return object
}
