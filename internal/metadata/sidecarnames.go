package metadata

import (
	"path"
	"slices"
	"strings"
)

// The endings of sidecars. One of the first kind follows the whole name of its object. The
// other may also take the place of the object's own ending.
const xmpEnding = ".xmp"

func sidecarEndings() []string {
	return []string{".json", takeoutMark + ".json", ".yaml", ".yml", xmpEnding}
}

// SidecarsOf returns the keys of all sidecars that an object may have, that which overrules
// the others first, with endings in small letters: see [FoldSidecar].
func SidecarsOf(key string) []string {
	var keys []string
	for _, ending := range sidecarEndings() {
		keys = append(keys, key+ending)
	}
	if stem, ok := StemOf(key); ok {
		keys = append(keys, stem+xmpEnding)
		for _, sidecar := range takeoutSidecars(key) {
			if !slices.Contains(keys, sidecar) {
				keys = append(keys, sidecar)
			}
		}
	}
	return keys
}

// StemOf returns a key without its ending, if what is beside it under another ending can be
// its sidecar: not if it has none, or one that sidecars have.
func StemOf(key string) (string, bool) {
	ending := path.Ext(key)
	stem := strings.TrimSuffix(key, ending)
	if ending == "" || ending == "." || isEndOfFolder(stem) || slices.Contains(sidecarEndings(), strings.ToLower(ending)) {
		return "", false
	}
	return stem, true
}

// isEndOfFolder reports whether nothing is left of the name of an object.
func isEndOfFolder(key string) bool { return key == "" || strings.HasSuffix(key, "/") }

// FoldSidecar returns a key that may be one of a sidecar with its ending in small letters.
func FoldSidecar(key string) (folded string, ok bool) {
	for _, ending := range []string{takeoutMark + ".json", ".json", ".yaml", ".yml", xmpEnding} { // the longest first
		if at := len(key) - len(ending); at > 0 && strings.EqualFold(key[at:], ending) && !isEndOfFolder(key[:at]) {
			return key[:at] + ending, true
		}
	}
	return key, false
}

// An Owner is what a sidecar describes by its key.
type Owner struct {
	// Keys are those of objects that may be meant, the shortest first.
	Keys []string
	// Begin is what the keys of all others begin with, in the same folder; empty if there
	// are no others. Not all that begin like this are meant: see Describes.
	Begin string

	sidecar string // its key, folded
}

// OwnerOf returns what the key of a sidecar says that it describes; ok is false for a key
// that no sidecar has.
func OwnerOf(key string) (o Owner, ok bool) {
	o.sidecar, ok = FoldSidecar(key)
	if !ok {
		return Owner{}, false
	}
	for _, ending := range sidecarEndings() {
		if owner, ok := strings.CutSuffix(o.sidecar, ending); ok && !isEndOfFolder(owner) {
			o.Keys = append(o.Keys, owner)
		}
	}
	if stem, ok := strings.CutSuffix(o.sidecar, xmpEnding); ok {
		o.Begin = stem + "."
	}
	o.addTakeout()
	slices.SortStableFunc(o.Keys, func(a, b string) int { return len(a) - len(b) })
	return o, true
}

// Describes reports whether an object of a key is meant.
func (o Owner) Describes(key string) bool {
	return !isEndOfFolder(key) && slices.Contains(SidecarsOf(key), o.sidecar)
}
