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

// DistinctName distinguishes an object whose name is taken. The suffix is made from the
// key alone, so it is the same every day, whatever else is in the folder.
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

// RenamedAssets lists the receipts of a pair whose assets are called otherwise than their objects, in
// key order: since the name was taken, since a rule of the mapping says so, or since the
// service or people call them so. Unicode forms are no difference.
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

// NameOf is the name of an object, in the Unicode form that assets have.
func NameOf(key sources.Key) string { return NormalName(path.Base(string(key))) }

// MaxName is how many characters the service allows in the name of a category, a folder or an asset.
const MaxName = 256

const maxExtension = 9

// IsCategoryName reports whether a category can have a name.
func IsCategoryName(name string) bool {
	return strings.TrimSpace(name) != "" && utf8.RuneCountInString(NormalName(name)) <= MaxName
}

// NewPrefix marks a category that does not exist yet and is known by name.
const NewPrefix = "new:"

// WantedCategory is the name in the category of an item where that one is still to be
// made; ok is false if it is the id of one that is there.
func WantedCategory(category string) (name string, ok bool) {
	return strings.CutPrefix(category, NewPrefix)
}

// A Place is where an object goes: a folder path within a category, and a name.
// Names are in Unicode normal form C, which is what people type when they search.
type Place struct {
	Category string // id, or newPrefix and a name
	Folder   string
	Name     string // with extension
}

// Slot hashes a place so that names which people would take for the same one,
// because they differ only in case or Unicode form, fall together. Two places
// that differ share a slot once in 2^64; the worst that follows is a needless
// rename.
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

// SplitName cuts a name before its extension: "photo.v2.jpg" gives "photo.v2"
// and "jpg". A name that only begins with a dot has no extension.
func SplitName(name string) (base, extension string) {
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
func (c NewCategory) Category() string { return NewPrefix + c.Name }

// NormalName returns a name in Unicode form C, as it is stored and searched for.
func NormalName(s string) string {
	if isASCII(s) {
		return s
	}
	return norm.NFC.String(s)
}

// ValidExtension reports whether a category can be made for an extension. One
// that the service refuses would keep the whole run from beginning.
func ValidExtension(e string) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`./\`, r) }
	return e != "" && utf8.RuneCountInString(e) <= maxExtension && !strings.ContainsFunc(e, odd)
}

// Allows reports whether extensions contain an extension, regardless of case. They never contain "".
func Allows(extensions []string, extension string) bool {
	return extension != "" && slices.ContainsFunc(extensions, func(e string) bool { return strings.EqualFold(e, extension) })
}

// SameName compares as the service may have stored it: names in Unicode form C,
// extensions regardless of case.
func SameName(a assets.Asset, name string) bool {
	base, extension := SplitName(name)
	return norm.NFC.String(a.Name) == norm.NFC.String(base) && strings.EqualFold(a.Extension, extension)
}

// A Container is where an asset goes; folder is empty directly in the category.
type Container struct{ Category, Folder string }
