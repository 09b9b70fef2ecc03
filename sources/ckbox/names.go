package ckbox

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"assetferry/internal/sorting"
)

// An entry is a category, a folder or an asset in a container. It joins its name and its ID in one
// text, because millions of entries may be in memory.
type entry struct {
	text  string // the name as a segment of a key, then the ID
	size  int64
	time  int64 // of the last change, in nanoseconds; 0 if unknown
	since int64 // of its creation, in nanoseconds; 0 if unknown
	id    uint32
	kind  uint16 // of content, see kinds
}

func newEntry(name, id string) entry {
	name = segment(name)
	return entry{text: name + id, id: uint32(len(name))}
}

// Name returns the segment of a key.
func (e entry) Name() string { return e.text[:e.id] }

// ID returns the ID at the service.
func (e entry) ID() string { return e.text[e.id:] }

// segment converts a name to a segment of a key: characters that keys do not allow become "_".
func segment(name string) string {
	switch name {
	case "", ".", "..":
		return "_" + name
	}
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsControl(r) && r < 0x80 {
			return '_'
		}
		return r
	}, name)
}

// distinct sorts the entries of a container by name, and makes names unique. The oldest entry keeps
// a name, so that it does not change when others are added. The others get their ID. Duplicate
// entries are removed.
func distinct(entries []entry, suffixed func(name, id string) string) []entry {
	byName := func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.since, b.since), cmp.Compare(a.ID(), b.ID()))
	}
	sorting.By(entries, byName)
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.text == b.text && a.id == b.id })
	var renamed map[int]entry
	for i := 1; i < len(entries); i++ {
		name := entries[i].Name()
		if name != entries[i-1].Name() {
			continue
		}
		if renamed == nil {
			renamed = map[int]entry{}
		}
		e := entries[i]
		for taken := true; taken; {
			name = suffixed(name, segment(e.ID()))
			_, taken = slices.BinarySearchFunc(entries, name, func(e entry, name string) int { return cmp.Compare(e.Name(), name) })
		}
		e.text, e.id = name+e.ID(), uint32(len(name))
		renamed[i] = e
	}
	for i, e := range renamed {
		entries[i] = e
	}
	if renamed != nil {
		sorting.By(entries, byName)
	}
	return entries
}

// suffixedFolder appends an ID to the name of a folder or a category.
func suffixedFolder(name, id string) string { return name + " (" + id + ")" }

// suffixedFile inserts an ID before the extension of a file.
func suffixedFile(name, id string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return suffixedFolder(name[:i], id) + name[i:]
	}
	return suffixedFolder(name, id)
}
