package mapping

import (
	"slices"
	"strings"
)

// CollectionsAs is the form of the collections of an object at the destination, which has none.
type CollectionsAs string

// The forms.
const (
	AsTags      CollectionsAs = "tags"      // a tag for each collection
	AsAttribute CollectionsAs = "attribute" // one custom attribute with all names
	AsNone      CollectionsAs = "none"      // only rules use them
)

// collections returns the names of the collections of an object, sorted and without duplicates.
func (d *description) collections() []string {
	if d.bare {
		return nil
	}
	names, _ := d.first(d.object.Found, wordCollections)
	trimmed := make([]string, 0, len(names))
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			trimmed = append(trimmed, name)
		}
	}
	slices.Sort(trimmed)
	return slices.Compact(trimmed)
}

// collectionTags returns the tags for the collections of an object.
func (d *description) collectionTags() (tags []string) {
	if as := d.options.Collections; as != "" && as != AsTags {
		return nil
	}
	for _, name := range d.collections() {
		tags = append(tags, d.options.CollectionPrefix+name)
	}
	return tags
}

// collectionsByDefault sets the attribute with the collections, unless a rule decided it.
func (d *description) collectionsByDefault() {
	if d.options.Collections != AsAttribute || d.isDecided(wordCollections) || d.isUnsent(wordCollections) {
		return
	}
	if names := d.collections(); len(names) > 0 {
		_, from := d.first(d.object.Found, wordCollections)
		d.set(wordCollections, joined(names), reason{word: wordCollections, from: from})
	}
}
