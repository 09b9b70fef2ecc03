package metadata

import (
	"path"
	"slices"
	"strings"
)

// The extensions of sidecars. They follow the whole name of the object. xmpEnding may also replace the
// extension of the object.
const xmpEnding = ".xmp"

func sidecarEndings() []string {
	return []string{".json", takeoutMark + ".json", ".yaml", ".yml", xmpEnding}
}

// SidecarsOf returns the possible sidecar keys of an object in order of precedence, with extensions in
// lower case, see [FoldSidecar].
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

// StemOf returns a key without its extension. ok is false if the key has no extension or that of a
// sidecar, because then no file with another extension can be its sidecar.
func StemOf(key string) (string, bool) {
	ending := path.Ext(key)
	stem := strings.TrimSuffix(key, ending)
	if ending == "" || ending == "." || isEndOfFolder(stem) || slices.Contains(sidecarEndings(), strings.ToLower(ending)) {
		return "", false
	}
	return stem, true
}

// isEndOfFolder reports whether the name in a key is empty.
func isEndOfFolder(key string) bool { return key == "" || strings.HasSuffix(key, "/") }

// FoldSidecar returns a possible sidecar key with its extension in lower case.
func FoldSidecar(key string) (folded string, ok bool) {
	for _, ending := range []string{takeoutMark + ".json", ".json", ".yaml", ".yml", xmpEnding} { // the longest first
		if at := len(key) - len(ending); at > 0 && strings.EqualFold(key[at:], ending) && !isEndOfFolder(key[:at]) {
			return key[:at] + ending, true
		}
	}
	return key, false
}

// An Owner identifies the possible objects of a sidecar, by its key.
type Owner struct {
	// Keys are keys of possible objects, the shortest first.
	Keys []string
	// Begin is the beginning of all other possible keys, in the same folder, or "". Not all keys with
	// this beginning match: see Describes.
	Begin string

	sidecar string // its key, folded
}

// OwnerOf returns the possible objects of a sidecar; ok is false if the key is not that of a sidecar.
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

// Describes reports whether the sidecar belongs to an object.
func (o Owner) Describes(key string) bool {
	return !isEndOfFolder(key) && slices.Contains(SidecarsOf(key), o.sidecar)
}
