package migrate

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
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

// newPrefix marks a category that does not exist yet and is known by name.
const newPrefix = "new:"

// A Place is where an object goes: a folder path within a category, and a name.
// Names are in Unicode normal form C, which is what people type when they search.
type Place struct {
	Category string // id, or newPrefix and a name
	Folder   string
	Name     string // with extension
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
}

// A placer finds the place of each object under the rules, with the categories
// that are there and those it wants to be made.
type placer struct {
	rules   Rules
	there   []assets.Category
	choices map[string]string // extension -> category id, as recorded before
	chosen  map[string]string // those made by this plan
	wanted  []NewCategory
	maxSize int64 // bytes; 0 if unknown
}

// place finds where an object goes, or the reason why it cannot.
func (p *placer) place(o sources.Object) (Place, Reason) {
	if o.Key.Check() != nil {
		return Place{}, ReasonKey
	}
	dir, name := sources.Key(normal(string(o.Key))).Split()
	base, extension := splitName(name)
	category, folder, ok := p.category(dir, strings.ToLower(extension))
	if !ok {
		return Place{Folder: dir, Name: name}, ReasonUnmatched
	}
	place := Place{Category: category, Folder: folder, Name: name}
	switch {
	case utf8.RuneCountInString(base) > maxName || longSegment(folder):
		return place, ReasonNameLong
	case p.maxSize > 0 && o.Size > p.maxSize:
		return place, ReasonTooLarge
	}
	return place, ""
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
		category, ok = p.named(p.rules.Category, extension)
		return category, dir, ok
	case p.rules.CategoryBy == "folder" && dir != "":
		top, rest, _ := strings.Cut(dir, "/")
		category, ok = p.named(top, extension)
		return category, rest, ok
	}
	category, ok = p.byExtension(extension)
	return category, dir, ok
}

// byExtension chooses the category recorded for the extension, else the first in
// the service's order that allows it.
func (p *placer) byExtension(extension string) (string, bool) {
	if id, ok := p.chosen[extension]; ok {
		return id, true
	}
	id, ok := p.choices[extension]
	if !ok || !slices.ContainsFunc(p.there, func(c assets.Category) bool { return c.ID == id && allows(c.Extensions, extension) }) {
		i := slices.IndexFunc(p.there, func(c assets.Category) bool { return allows(c.Extensions, extension) })
		if i < 0 {
			return p.other(extension)
		}
		id = p.there[i].ID
	}
	p.chosen[extension] = id
	return id, true
}

// named chooses the category of that name; of several the first that allows the
// extension. One that is not there is wanted.
func (p *placer) named(name, extension string) (string, bool) {
	found := false
	for _, c := range p.there {
		if norm.NFC.String(c.Name) != norm.NFC.String(name) {
			continue
		}
		found = true
		if allows(c.Extensions, extension) {
			return c.ID, true
		}
	}
	if found {
		return p.other(extension)
	}
	return p.want(name, extension)
}

// other puts an extension that fits nowhere into a category of its own kind, if
// the user wants that.
func (p *placer) other(extension string) (string, bool) {
	if p.rules.Unmatched != "create" {
		return "", false
	}
	for n := 1; ; n++ {
		name := otherFiles
		if n > 1 {
			name = fmt.Sprintf("%s %d", otherFiles, n)
		}
		if slices.ContainsFunc(p.there, func(c assets.Category) bool { return c.Name == name }) {
			continue // it is there and does not allow the extension
		}
		if id, ok := p.want(name, extension); ok || !validExtension(extension) {
			return id, ok
		}
	}
}

// want adds an extension to a category that is to be made. It fails if the
// extension cannot be in any category, or the category is full.
func (p *placer) want(name, extension string) (string, bool) {
	if !validExtension(extension) {
		return "", false
	}
	i := slices.IndexFunc(p.wanted, func(c NewCategory) bool { return c.Name == name })
	if i < 0 {
		p.wanted = append(p.wanted, NewCategory{Name: name})
		i = len(p.wanted) - 1
	}
	c := &p.wanted[i]
	if !slices.Contains(c.Extensions, extension) {
		if len(c.Extensions) == maxExtensions {
			return "", false
		}
		c.Extensions = append(c.Extensions, extension)
	}
	return newPrefix + name, true
}

func validExtension(e string) bool { return e != "" && utf8.RuneCountInString(e) <= maxExtension }

func allows(extensions []string, extension string) bool {
	return extension != "" && slices.ContainsFunc(extensions, func(e string) bool { return strings.EqualFold(e, extension) })
}
