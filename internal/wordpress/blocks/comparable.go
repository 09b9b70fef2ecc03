package blocks

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// invalidEntity matches entities of control characters, as old editors of Windows wrote them.
var invalidEntity = regexp.MustCompile(`&#1(?:2[89]|[345][0-9]);`)

// Comparable returns a form of a text that is the same before and after WordPress saves it: it adds
// rel="noopener" to links with a target, and writes their attributes in its own form. It also
// replaces invalid entities by those that browsers show for them.
func Comparable(text string) string {
	text = invalidEntity.ReplaceAllStringFunc(text, validEntity)
	var edits []edit
	for _, t := range tagsOf(text, span{0, len(text)}) {
		if t.name != "a" || t.attribute("target") == nil {
			continue
		}
		var all []string
		for _, a := range t.attributes {
			if a.name != "rel" {
				all = append(all, fmt.Sprintf("%s=%q", a.name, t.value(text, a.name)))
			}
		}
		slices.Sort(all)
		edits = append(edits, edit{t.span, "<a " + strings.Join(all, " ") + ">"})
	}
	return apply(text, edits)
}

// validEntity returns the entity that browsers show for an invalid one, or "".
func validEntity(invalid string) string {
	shown := []rune(html.UnescapeString(invalid))[0]
	if unicode.IsControl(shown) {
		return ""
	}
	return fmt.Sprintf("&#%d;", shown)
}
