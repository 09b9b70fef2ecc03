package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/sources"
	"assetferry/state"
)

// DistinctName returns a distinct name for an object whose name is taken. The suffix depends only
// on the key, so it is the same in every run.
func DistinctName(name string, key sources.Key) string {
	sum := sha256.Sum256([]byte(key))
	base, extension := SplitName(name)
	suffix := "~" + hex.EncodeToString(sum[:3])
	if keep := MaxName - len(suffix); len([]rune(base)) > keep {
		base = string([]rune(base)[:keep])
	}
	if extension == "" {
		return base + suffix
	}
	return base + suffix + "." + extension
}

// RenamedAssets lists the receipts of a pair whose assets have other names than their objects, in
// key order: the name was taken, a mapping rule changed it, or the service or users did.
// Differences in Unicode form do not count.
func RenamedAssets(ctx context.Context, store interface {
	DifferentlyNamed(ctx context.Context, pair int64) iter.Seq2[state.Receipt, error]
}, pair int64) iter.Seq2[state.Receipt, error] {
	return func(yield func(state.Receipt, error) bool) {
		for r, err := range store.DifferentlyNamed(ctx, pair) {
			if err == nil && NormalName(r.Filename()) == NameOf(r.Key) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// NameOf returns the name of an object, in the Unicode form of assets.
func NameOf(key sources.Key) string { return NormalName(path.Base(string(key))) }

// MaxName is the longest name of a category, folder or asset that the service allows, in
// characters.
const MaxName = 256

const maxExtension = 9

// IsCategoryName reports whether a name is valid for a category.
func IsCategoryName(name string) bool {
	return strings.TrimSpace(name) != "" && utf8.RuneCountInString(NormalName(name)) <= MaxName
}

// NewPrefix marks a category that will be created, followed by its name.
const NewPrefix = "new:"

// WantedCategory returns the name of a category that will be created; ok is false if category is
// the ID of an existing one.
func WantedCategory(category string) (name string, ok bool) {
	return strings.CutPrefix(category, NewPrefix)
}

// A Place is where an object goes: a category, a folder path within it, and a name. Names are in
// Unicode normal form C, which users type in searches.
type Place struct {
	Category string // id, or newPrefix and a name
	Folder   string
	Name     string // with extension
}

// Slot returns a hash of a place. Names that differ only in case or Unicode form have the same
// slot, because users would mix them up. Different places share a slot once in 2^64, which causes
// at most a needless rename.
func (p Place) Slot() int64 {
	h := fnv.New64a()
	h.Write([]byte(p.Category))
	h.Write([]byte{0})
	h.Write([]byte(p.Folder))
	h.Write([]byte{0})
	h.Write([]byte(FoldName(p.Name)))
	return int64(h.Sum64())
}

// FoldName makes names equal that differ only in case or Unicode form.
func FoldName(name string) string {
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

// SplitName splits a name at its extension: "photo.v2.jpg" becomes "photo.v2" and "jpg". A name
// whose only dot is the first character has no extension.
func SplitName(name string) (base, extension string) {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// A NewCategory is a category that a plan will create.
type NewCategory struct {
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	Private    bool     `json:"private,omitempty"` // as at the source
}

// Category returns its name in the category of an item; see WantedCategory.
func (c NewCategory) Category() string { return NewPrefix + c.Name }

// NormalName returns a name in Unicode form C, in which names are stored and searched for.
func NormalName(s string) string {
	if isASCII(s) {
		return s
	}
	return norm.NFC.String(s)
}

// ValidExtension reports whether a category can be created for an extension. A refused extension
// would keep the whole run from starting.
func ValidExtension(e string) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`./\`, r) }
	return e != "" && utf8.RuneCountInString(e) <= maxExtension && !strings.ContainsFunc(e, odd)
}

// Allows reports whether extensions contain an extension, regardless of case. They never contain "".
func Allows(extensions []string, extension string) bool {
	return extension != "" && slices.ContainsFunc(extensions, func(e string) bool { return strings.EqualFold(e, extension) })
}

// SameName compares a name with that of an asset as services store it: in Unicode form C, with
// extensions regardless of case.
func SameName(a assets.Asset, name string) bool {
	base, extension := SplitName(name)
	return norm.NFC.String(a.Name) == norm.NFC.String(base) && strings.EqualFold(a.Extension, extension)
}

// A Container is a category and a folder in it; Folder is empty for the category itself.
type Container struct{ Category, Folder string }
