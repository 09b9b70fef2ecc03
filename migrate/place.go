package migrate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/sources"
)

// Limits of the service, in characters, as its own clients enforce them
// (documentation of the REST API; whether the server does is not known).
const (
	maxName       = 256
	maxExtension  = 9
	maxExtensions = 100 // of a category
)

// otherFiles is the category made for extensions that no category allows.
const otherFiles = "Other files"

// fallbackExtension is the extension that an asset gets in the fallback category whose object has none
// that a category can hold: a category is a list of extensions, and an empty one is nothing
// that any client of the service ever sent.
const fallbackExtension = "bin"

// IsCategoryName reports whether a category can have a name.
func IsCategoryName(name string) bool {
	return strings.TrimSpace(name) != "" && utf8.RuneCountInString(normal(name)) <= maxName
}

// newPrefix marks a category that does not exist yet and is known by name.
const newPrefix = "new:"

// WantedCategory is the name in the category of an item where that one is still to be
// made; ok is false if it is the id of one that is there.
func WantedCategory(category string) (name string, ok bool) {
	return strings.CutPrefix(category, newPrefix)
}

// A Place is where an object goes: a folder path within a category, and a name.
// Names are in Unicode normal form C, which is what people type when they search.
type Place struct {
	Category string // id, or newPrefix and a name
	Folder   string
	Name     string // with extension
}

// A spot is the place that was found for an object.
type spot struct {
	Place
	private  bool   // rules want it in a private category
	remark   string // for people, about what rules wished
	extended bool   // its name ends with an extension that the object has not
}

// slot hashes a place so that names which people would take for the same one,
// because they differ only in case or Unicode form, fall together. Two places
// that differ share a slot once in 2^64; the worst that follows is a needless
// rename.
func (p Place) slot() int64 {
	h := fnv.New64a()
	h.Write([]byte(p.Category))
	h.Write([]byte{0})
	h.Write([]byte(p.Folder))
	h.Write([]byte{0})
	h.Write([]byte(foldName(p.Name)))
	return int64(h.Sum64())
}

// foldName makes names equal that differ only in case or Unicode form.
func foldName(name string) string {
	if isASCII(name) {
		return strings.ToLower(name)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// splitName cuts a name before its extension: "photo.v2.jpg" gives "photo.v2"
// and "jpg". A name that only begins with a dot has no extension.
func splitName(name string) (base, extension string) {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// A NewCategory is a category that a plan wants to be made.
type NewCategory struct {
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	Private    bool     `json:"private,omitempty"` // as it is at the source
}

// Category is how it is named in the category of an item; see WantedCategory.
func (c NewCategory) Category() string { return newPrefix + c.Name }

// A placer finds the place of each object under the rules, with the categories
// that are there and those it wants to be made.
type placer struct {
	rules   Rules
	mapping *mapping.Mapping
	there   []assets.Category
	kept    kept              // the categories of the source
	choices map[string]string // extension -> category id, or newPrefix and a name, as recorded before
	found   map[string]string // the same as of now, for every extension asked for
	chosen  map[string]string // those of them that objects go to
	wanted  []NewCategory
	fixed   bool  // what is wanted was approved
	maxSize int64 // bytes; 0 if unknown
}

// place finds where an object goes of which something was found, or the reason why it
// cannot. That has no effect unless use follows, so that objects which go nowhere leave no
// category behind.
func (p *placer) place(o sources.Object, found metadata.Found) (spot, Reason) {
	if o.Key.Check() != nil {
		return spot{}, ReasonKey
	}
	dir, name := sources.Key(normal(string(o.Key))).Split()
	wish, notes, err := p.mapping.Place(mappable(o, found), mapping.Place{Folder: dir, Name: name})
	switch {
	case err != nil:
		return spot{Place: Place{Folder: dir, Name: name}, remark: err.Error()}, ReasonRules
	case wish.Skip:
		return spot{Place: Place{Folder: dir, Name: name}}, ReasonRuledOut
	}
	place, why := p.placeAs(o, dir, wish)
	extended := why == "" && place.Name != wish.Name
	return spot{place, isTrue(wish.Private), remarks(notes), extended}, why
}

func isTrue(b *bool) bool { return b != nil && *b }

// placeAs finds the place of an object in a directory that rules wish somewhere.
func (p *placer) placeAs(o sources.Object, dir string, wish mapping.Place) (Place, Reason) {
	name := wish.Name
	base, extension := splitName(name)
	category, folder, ok := p.wished(wish, dir, strings.ToLower(extension))
	if !ok && p.rules.FallbackCategory != "" && !ValidExtension(strings.ToLower(extension)) {
		base, name, folder = name, name+"."+fallbackExtension, normal(wish.Folder)
		category, ok = p.other(fallbackExtension)
	}
	if !ok {
		return Place{Folder: wish.Folder, Name: wish.Name}, p.unmatched()
	}
	place := Place{Category: category, Folder: folder, Name: name}
	switch {
	case utf8.RuneCountInString(base) > maxName || longSegment(folder) || utf8.RuneCountInString(category) > len(newPrefix)+maxName:
		return place, ReasonNameLong
	case p.maxSize > 0 && o.Size > p.maxSize:
		return place, ReasonTooLarge
	case p.exposes(dir, category), isTrue(wish.Private) && !p.isPrivate(category, true):
		return place, ReasonPublic
	}
	return place, ""
}

// wished chooses the category of an extension where rules name one, and as always where
// they do not, and gives the folder in it.
func (p *placer) wished(wish mapping.Place, dir, extension string) (category, folder string, ok bool) {
	private := isTrue(wish.Private)
	if wish.Category != "" {
		category, ok = p.named(normal(wish.Category), extension, private)
		return category, normal(wish.Folder), ok
	}
	category, folder, ok = p.category(dir, extension)
	if private && ok && !p.isPrivate(category, true) {
		if i := slices.IndexFunc(p.there, func(c assets.Category) bool { return c.Private && allows(c.Extensions, extension) }); i >= 0 {
			category = p.there[i].ID
		}
	}
	if wish.Folder != dir {
		folder = normal(wish.Folder)
	}
	return category, folder, ok
}

// unmatched is the reason for an object without a category. A user who wanted one
// made must hear of it where that is not possible.
func (p *placer) unmatched() Reason {
	if p.rules.Unmatched == "create" {
		return ReasonNoCategory
	}
	return ReasonUnmatched
}

func normal(s string) string {
	if isASCII(s) {
		return s
	}
	return norm.NFC.String(s)
}

func longSegment(folder string) bool {
	return len(folder) > maxName && slices.ContainsFunc(strings.Split(folder, "/"), func(s string) bool {
		return utf8.RuneCountInString(s) > maxName
	})
}

// category chooses the category of an extension within a directory, and gives
// what remains of the directory as the folder.
func (p *placer) category(dir, extension string) (category, folder string, ok bool) {
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

// byExtension chooses the category recorded for the extension, else the first in
// the service's order that allows it, else one that is to be made.
func (p *placer) byExtension(extension string) (category string, ok bool) {
	category, ok = p.found[extension]
	if name, isNew := WantedCategory(category); ok && (!isNew || p.fits(name, extension)) {
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

// listed gives the index of the category for an extension among those that are there,
// or -1. One that an approved plan makes is not chosen, as if it were not there yet:
// otherwise what a first try of that plan had made would draw objects away from where
// they were approved to go.
func (p *placer) listed(extension string) int {
	takes := func(c assets.Category) bool { return allows(c.Extensions, extension) && !p.wants(c.Name) }
	chosen := p.choices[extension]
	i := slices.IndexFunc(p.there, func(c assets.Category) bool { return (c.ID == chosen || newPrefix+c.Name == chosen) && takes(c) })
	if i < 0 {
		i = slices.IndexFunc(p.there, takes)
	}
	return i
}

// use notes that an object goes to a place.
func (p *placer) use(place spot) {
	_, extension := splitName(place.Name)
	extension = strings.ToLower(extension)
	if name, ok := WantedCategory(place.Category); ok {
		p.want(name, extension, place.private)
	}
	if p.found[extension] == place.Category {
		p.chosen[extension] = place.Category
	}
}

// named chooses the category of that name; of several the first that allows the
// extension, and before those the first that is private if it is to be, or is at the
// source. One that is not there is wanted.
func (p *placer) named(name, extension string, private bool) (string, bool) {
	found, chosen := false, ""
	private = private || p.kept.called(name).Private
	for _, c := range p.there {
		if norm.NFC.String(c.Name) != norm.NFC.String(name) {
			continue
		}
		found = true
		switch {
		case !allows(c.Extensions, extension):
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
	return newPrefix + name, p.fits(name, extension)
}

// other puts an extension that fits nowhere into a category of its own kind, if
// the user wants that. One that is there and does not allow the extension is not changed,
// but followed by one with a number.
func (p *placer) other(extension string) (string, bool) {
	if p.rules.Unmatched != "create" {
		return "", false
	}
	if !ValidExtension(extension) {
		return "", false
	}
	for n := 1; ; n++ {
		name := cmp.Or(normal(p.rules.FallbackCategory), otherFiles)
		if n > 1 {
			name = fmt.Sprintf("%s %d", name, n)
		}
		i := slices.IndexFunc(p.there, func(c assets.Category) bool { return norm.NFC.String(c.Name) == name })
		switch {
		case i >= 0 && allows(p.there[i].Extensions, extension):
			return p.there[i].ID, true
		case i < 0 && p.fits(name, extension):
			return newPrefix + name, true
		}
	}
}

// wants reports whether a category of that name is to be made.
func (p *placer) wants(name string) bool {
	return slices.ContainsFunc(p.wanted, func(c NewCategory) bool { return norm.NFC.String(c.Name) == norm.NFC.String(name) })
}

// fits reports whether an extension may be in a category that is to be made.
func (p *placer) fits(name, extension string) bool {
	if !ValidExtension(extension) {
		return false
	}
	var of []string
	if i := slices.IndexFunc(p.wanted, func(c NewCategory) bool { return c.Name == name }); i >= 0 {
		of = p.wanted[i].Extensions
	} else {
		of = p.kept.called(name).Extensions
	}
	return len(of) < maxExtensions || slices.Contains(of, extension)
}

// want adds an extension to a category that is to be made.
func (p *placer) want(name, extension string, private bool) {
	i := slices.IndexFunc(p.wanted, func(c NewCategory) bool { return c.Name == name })
	if i < 0 {
		i = len(p.wanted)
		p.wanted = append(p.wanted, p.kept.called(name))
	}
	c := &p.wanted[i]
	c.Private = c.Private || private
	if !slices.Contains(c.Extensions, extension) {
		c.Extensions = append(c.Extensions, extension)
	}
}

// ValidExtension reports whether a category can be made for an extension. One
// that the service refuses would keep the whole run from beginning.
func ValidExtension(e string) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`./\`, r) }
	return e != "" && utf8.RuneCountInString(e) <= maxExtension && !strings.ContainsFunc(e, odd)
}

// takes reports whether a category is there and allows an extension.
func (p *placer) takes(category, extension string) bool {
	return slices.ContainsFunc(p.there, func(c assets.Category) bool { return c.ID == category && allows(c.Extensions, extension) })
}

func allows(extensions []string, extension string) bool {
	return extension != "" && slices.ContainsFunc(extensions, func(e string) bool { return strings.EqualFold(e, extension) })
}
