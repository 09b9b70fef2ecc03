package blocks

import (
	"fmt"
	"slices"
	"strings"
)

// Comparable returns a form of a text that is the same before and after WordPress saves it: it adds
// rel="noopener" to links with a target, and writes their attributes in its own form.
func Comparable(text string) string {
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
