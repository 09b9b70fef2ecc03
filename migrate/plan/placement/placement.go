// Package placement finds the place of each object at the destination: the category, the folder and
// the name. It uses the rules of the user, and the categories that exist or will be created.
package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
)

// otherFiles is the category to create for extensions that no category allows.
const otherFiles = "Other files"

// fallbackExtension is the extension of an asset in the fallback category whose object has none
// that a category can contain. A category is a list of extensions, and no known client of the
// service sends an empty one.
const fallbackExtension = "bin"

// A Spot is the place that was found for an object.
type Spot struct {
	migrate.Place
	Remark   string // for people, about a rule that could not be followed
	Extended bool   // its name ends with an extension that the object has not
	private  bool   // rules want it in a private category
}

// Options are the input of a [Placer].
type Options struct {
	Rules     migrate.Rules
	Mapping   *mapping.Mapping
	There     []assets.Category     // at the destination, in the order of the service
	Structure []sources.Category    // the categories of the source
	Choices   map[string]string     // the categories of extensions as they were recorded before; see [Placer.Chosen]
	Approved  []migrate.NewCategory // to create by the approved plan
	IsFixed   bool                  // there is an approved plan
	MaxSize   int64                 // the most bytes of an asset; 0 if that is unknown
}

// A Placer finds the place of each object under the rules, in the existing categories and in those
// to create.
type Placer struct {
	rules            migrate.Rules
	mapping          *mapping.Mapping
	there            []assets.Category
	sourceCategories sourceCategories  // the categories of the source
	choices          map[string]string // extension -> category id, or newPrefix and a name, as recorded before
	found            map[string]string // the category by extension, for all extensions looked up
	chosen           map[string]string // those in use
	wanted           []migrate.NewCategory
	fixed            bool  // the categories to create are those of an approved plan
	maxSize          int64 // bytes; 0 if unknown
}

// New returns a Placer without any placed objects.
func New(o Options) *Placer {
	p := &Placer{rules: o.Rules, mapping: o.Mapping, there: o.There, sourceCategories: o.Structure, choices: o.Choices, fixed: o.IsFixed, maxSize: o.MaxSize,
		found: map[string]string{}, chosen: map[string]string{}}
	for _, c := range o.Approved {
		p.wanted = append(p.wanted, migrate.NewCategory{Name: c.Name, Extensions: slices.Clone(c.Extensions), Private: c.Private})
	}
	return p
}

// Place returns the place of an object, or the reason why it has none. It has no effect without
// [Placer.Use], so that skipped objects create no category.
func (p *Placer) Place(o sources.Object, found metadata.Found) (Spot, migrate.Reason) {
	if o.Key.Check() != nil {
		return Spot{}, migrate.ReasonInvalidKey
	}
	dir, name := sources.Key(migrate.NormalName(string(o.Key))).Split()
	wish, notes, err := p.mapping.Place(collect.MappingObject(o, found), mapping.Place{Folder: dir, Name: name})
	switch {
	case err != nil:
		return Spot{Place: migrate.Place{Folder: dir, Name: name}, Remark: err.Error()}, migrate.ReasonMappingError
	case wish.Skip:
		return Spot{Place: migrate.Place{Folder: dir, Name: name}}, migrate.ReasonMappingRule
	}
	place, why := p.placeAs(o, dir, wish)
	extended := why == "" && place.Name != wish.Name
	return Spot{place, collect.RemarkOf(notes), extended, isTrue(wish.Private)}, why
}

func isTrue(b *bool) bool { return b != nil && *b }

// placeAs finds the place of an object in a directory that rules wish somewhere.
func (p *Placer) placeAs(o sources.Object, dir string, wish mapping.Place) (migrate.Place, migrate.Reason) {
	name := wish.Name
	base, extension := migrate.SplitName(name)
	category, folder, ok := p.wished(wish, dir, strings.ToLower(extension))
	if !ok && p.rules.FallbackCategory != "" && !migrate.ValidExtension(strings.ToLower(extension)) {
		base, name, folder = name, name+"."+fallbackExtension, migrate.NormalName(wish.Folder)
		category, ok = p.other(fallbackExtension)
	}
	if !ok {
		return migrate.Place{Folder: wish.Folder, Name: wish.Name}, p.unsupportedReason()
	}
	place := migrate.Place{Category: category, Folder: folder, Name: name}
	switch {
	case utf8.RuneCountInString(base) > migrate.MaxName || longSegment(folder) || utf8.RuneCountInString(category) > len(migrate.NewPrefix)+migrate.MaxName:
		return place, migrate.ReasonNameTooLong
	case p.maxSize > 0 && o.Size > p.maxSize:
		return place, migrate.ReasonTooLarge
	case p.makesPublic(dir, category), isTrue(wish.Private) && !p.isPrivate(category, true):
		return place, migrate.ReasonCategoryPublic
	}
	return place, ""
}

// wished returns the category for an extension by the rules, or by default if no rule names one,
// and the folder in it.
func (p *Placer) wished(wish mapping.Place, dir, extension string) (category, folder string, ok bool) {
	private := isTrue(wish.Private)
	if wish.Category != "" {
		category, ok = p.named(migrate.NormalName(wish.Category), extension, private)
		return category, migrate.NormalName(wish.Folder), ok
	}
	category, folder, ok = p.category(dir, extension)
	if private && ok && !p.isPrivate(category, true) {
		if i := slices.IndexFunc(p.there, func(c assets.Category) bool { return c.Private && migrate.Allows(c.Extensions, extension) }); i >= 0 {
			category = p.there[i].ID
		}
	}
	if wish.Folder != dir {
		folder = migrate.NormalName(wish.Folder)
	}
	return category, folder, ok
}

// unsupportedReason returns the reason for an object without a category. It says so if the user
// requested to create one and that is impossible.
func (p *Placer) unsupportedReason() migrate.Reason {
	if p.rules.Unsupported == "create" {
		return migrate.ReasonNoCategoryPossible
	}
	return migrate.ReasonUnsupportedType
}

func longSegment(folder string) bool {
	return len(folder) > migrate.MaxName && slices.ContainsFunc(strings.Split(folder, "/"), func(s string) bool {
		return utf8.RuneCountInString(s) > migrate.MaxName
	})
}

// category returns the category for an extension within a directory, and the rest of the directory
// as the folder.
func (p *Placer) category(dir, extension string) (category, folder string, ok bool) {
	switch {
	case p.rules.Category != "":
		category, ok = p.named(p.rules.Category, extension, false)
		return category, dir, ok
	case p.rules.CategoryBy == "folder" && dir != "":
		top, rest, _ := strings.Cut(dir, "/")
		category, ok = p.named(top, extension, false)
		return category, rest, ok
	}
	category, ok = p.byExtension(extension)
	return category, dir, ok
}

// byExtension chooses the category recorded for the extension, else the first in the service's
// order that allows it, else one to create.
func (p *Placer) byExtension(extension string) (category string, ok bool) {
	category, ok = p.found[extension]
	if name, isNew := migrate.WantedCategory(category); ok && (!isNew || p.fits(name, extension)) {
		return category, true
	}
	if i := p.listed(extension); i >= 0 {
		category, ok = p.there[i].ID, true
	} else {
		category, ok = p.other(extension)
	}
	if ok {
		p.found[extension] = category
	}
	return category, ok
}

// listed returns the index of the existing category for an extension, or -1. It ignores categories
// that an approved plan creates: otherwise those of a first attempt of that plan would attract
// objects that were approved for other places.
func (p *Placer) listed(extension string) int {
	takes := func(c assets.Category) bool { return migrate.Allows(c.Extensions, extension) && !p.wants(c.Name) }
	chosen := p.choices[extension]
	i := slices.IndexFunc(p.there, func(c assets.Category) bool {
		return (c.ID == chosen || migrate.NewPrefix+c.Name == chosen) && takes(c)
	})
	if i < 0 {
		i = slices.IndexFunc(p.there, takes)
	}
	return i
}

// Use records that an object is placed.
func (p *Placer) Use(place Spot) {
	_, extension := migrate.SplitName(place.Name)
	extension = strings.ToLower(extension)
	if name, ok := migrate.WantedCategory(place.Category); ok {
		p.want(name, extension, place.private)
	}
	if p.found[extension] == place.Category {
		p.chosen[extension] = place.Category
	}
}

// named chooses the category of that name; of several the first that allows the
// extension, and before those the first that is private if it will be, or is at the
// source. One that is not there is wanted.
func (p *Placer) named(name, extension string, private bool) (string, bool) {
	found, chosen := false, ""
	private = private || p.sourceCategories.called(name).Private
	for _, c := range p.there {
		if norm.NFC.String(c.Name) != norm.NFC.String(name) {
			continue
		}
		found = true
		switch {
		case !migrate.Allows(c.Extensions, extension):
		case c.Private || !private:
			return c.ID, true
		case chosen == "":
			chosen = c.ID
		}
	}
	switch {
	case chosen != "":
		return chosen, true
	case found:
		return p.other(extension)
	}
	return migrate.NewPrefix + name, p.fits(name, extension)
}

// other puts an extension that fits not used into a category of its own kind, if
// the user wants that. One that is there and does not allow the extension is not changed,
// but followed by one with a number.
func (p *Placer) other(extension string) (string, bool) {
	if p.rules.Unsupported != "create" {
		return "", false
	}
	if !migrate.ValidExtension(extension) {
		return "", false
	}
	for n := 1; ; n++ {
		name := cmp.Or(migrate.NormalName(p.rules.FallbackCategory), otherFiles)
		if n > 1 {
			name = fmt.Sprintf("%s %d", name, n)
		}
		i := slices.IndexFunc(p.there, func(c assets.Category) bool { return norm.NFC.String(c.Name) == name })
		switch {
		case i >= 0 && migrate.Allows(p.there[i].Extensions, extension):
			return p.there[i].ID, true
		case i < 0 && p.fits(name, extension):
			return migrate.NewPrefix + name, true
		}
	}
}

// wants reports whether a category of that name will be created.
func (p *Placer) wants(name string) bool {
	return slices.ContainsFunc(p.wanted, func(c migrate.NewCategory) bool { return norm.NFC.String(c.Name) == norm.NFC.String(name) })
}

// fits reports whether a category to create allows an extension.
func (p *Placer) fits(name, extension string) bool {
	if !migrate.ValidExtension(extension) {
		return false
	}
	var of []string
	if i := slices.IndexFunc(p.wanted, func(c migrate.NewCategory) bool { return c.Name == name }); i >= 0 {
		of = p.wanted[i].Extensions
	} else {
		of = p.sourceCategories.called(name).Extensions
	}
	return len(of) < maxExtensions || slices.Contains(of, extension)
}

// want adds an extension to a category to create.
func (p *Placer) want(name, extension string, private bool) {
	i := slices.IndexFunc(p.wanted, func(c migrate.NewCategory) bool { return c.Name == name })
	if i < 0 {
		i = len(p.wanted)
		p.wanted = append(p.wanted, p.sourceCategories.called(name))
	}
	c := &p.wanted[i]
	c.Private = c.Private || private
	if !slices.Contains(c.Extensions, extension) {
		c.Extensions = append(c.Extensions, extension)
	}
}

// Allows reports whether a category is there and allows an extension.
func (p *Placer) Allows(category, extension string) bool {
	return slices.ContainsFunc(p.there, func(c assets.Category) bool { return c.ID == category && migrate.Allows(c.Extensions, extension) })
}

// IsNamed reports whether a category is there and has that name.
func (p *Placer) IsNamed(category, name string) bool {
	return slices.ContainsFunc(p.there, func(c assets.Category) bool {
		return c.ID == category && norm.NFC.String(c.Name) == norm.NFC.String(name)
	})
}

// Chosen returns the categories that extensions alone have led objects to, by extension: an ID, or
// [migrate.NewPrefix] and a name.
func (p *Placer) Chosen() map[string]string { return p.chosen }

// Wanted returns the categories to create.
func (p *Placer) Wanted() []migrate.NewCategory { return p.wanted }

// WantNone discards the categories to create.
func (p *Placer) WantNone() { p.wanted = nil }

// makesPublic reports whether an object would become visible to all users with its URL although it
// is not public at the source.
func (p *Placer) makesPublic(dir, category string) bool {
	from, ok := p.sourceCategories.of(dir)
	return ok && from.Private && !p.isPrivate(category, false)
}

// isPrivate reports whether an existing category, or one to create, is private. A new one is
// private if wished is true.
func (p *Placer) isPrivate(category string, wished bool) bool {
	if name, isNew := migrate.WantedCategory(category); isNew {
		if wished && !p.fixed {
			return true
		}
		if i := slices.IndexFunc(p.wanted, func(c migrate.NewCategory) bool { return c.Name == name }); i >= 0 {
			return p.wanted[i].Private
		}
		return p.sourceCategories.called(name).Private
	}
	return slices.ContainsFunc(p.there, func(c assets.Category) bool { return c.ID == category && c.Private })
}
