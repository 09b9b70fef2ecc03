package placement

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"assetferry/migrate"
	"assetferry/sources"
)

const maxExtensions = 100 // of a category

// sourceCategories are the categories of the source, if it has any.
type sourceCategories []sources.Category

// of returns the source category of a directory.
func (k sourceCategories) of(dir string) (sources.Category, bool) {
	segment, _, _ := strings.Cut(dir, "/")
	i := slices.IndexFunc(k, func(c sources.Category) bool { return migrate.NormalName(c.Segment) == segment })
	if i < 0 {
		return sources.Category{}, false
	}
	return k[i], true
}

// called returns the settings of a new category with a name: those of the source category whose
// keys lead there, or else of all with that name. It is private if one of them is.
func (k sourceCategories) called(name string) (like migrate.NewCategory) {
	like.Name = name
	add := func(c sources.Category) {
		like.Private = like.Private || c.Private
		for _, e := range c.Extensions {
			if e = strings.ToLower(e); migrate.ValidExtension(e) && !slices.Contains(like.Extensions, e) && len(like.Extensions) < maxExtensions {
				like.Extensions = append(like.Extensions, e)
			}
		}
	}
	if c, ok := k.of(migrate.NormalName(name)); ok {
		add(c)
		return like
	}
	for _, c := range k {
		if norm.NFC.String(c.Name) == norm.NFC.String(name) {
			add(c)
		}
	}
	return like
}
