// Package oldurl knows the old URLs of objects: how rules build them from keys, and which
// object has the one that somebody asks for:
//
//	rules := []*Template{...}                    // ParseTemplate, or Prefix.Template
//	finder, err := NewFinder(ctx, rules, journal) // journal: what keys are and were
//	places := finder.Beginnings()                // "//cdn.example.com/img/", "/files/"
//	found, err := finder.Find(ctx, address)      // ErrUnknown, or what stands for it
//
// A URL is found in whatever way it is spelled: with any scheme or none, encoded or not, in
// any form of Unicode, with a query that nobody knows. Where only the keys matter that it may
// have been built from, Keys gives them.
package oldurl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A Kind says how an old address came about. Of two objects that have the same one, that of
// the kind which comes first here has it.
type Kind string

// The kinds.
const (
	Current Kind = "current" // of the key that the object goes by
	Former  Kind = "former"  // of a key that it went by
	Alias   Kind = "alias"   // of the key of an object that shares its asset
	Given   Kind = "given"   // as its source says
	Variant Kind = "variant" // of any of the keys, in another size
)

var kinds = []Kind{Current, Former, Alias, Given, Variant}

// An Object is what a journal knows of one that has arrived.
type Object struct {
	Key  string // that it goes by
	Kind Kind   // of what was asked for
	URL  string // of its asset
	Left string // why nobody may be sent there; empty if everybody may
	// Images gives the addresses of an image in other sizes, by width.
	Images func() (map[string]string, error)
}

// A Journal knows objects by the keys and addresses that they have or had. Those of which it
// knows nothing are an ErrUnknown.
type Journal interface {
	ByKey(ctx context.Context, key string) (Object, error)
	// ByAddress finds an object by an address that its source says it had, as Comparable
	// makes it.
	ByAddress(ctx context.Context, comparable string) (Object, error)
	// Beginnings are those of all such addresses: "//host/", or "/".
	Beginnings(ctx context.Context) ([]string, error)
}

// ErrUnknown says that a journal knows nothing of a key or an address.
var ErrUnknown = errors.New("nothing is known by that")

// A Finder finds what stands for old addresses now.
type Finder struct {
	rules   []*Template
	journal Journal
	given   []string // what addresses begin with that are known as a whole
	alone   bool     // there is one rule without sizes, by which no two keys have the same address
}

// NewFinder gives a finder for addresses that were built by some rules, or that are known as
// a whole.
func NewFinder(ctx context.Context, rules []*Template, journal Journal) (*Finder, error) {
	given, err := journal.Beginnings(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for old addresses: %w", err)
	}
	plain := 0
	alone := true
	for _, rule := range rules {
		if !rule.HasSizes() {
			plain++
			alone = alone && rule.placeholders() == 1 && rule.has(ofPath)
		}
	}
	return &Finder{rules, journal, given, alone && plain == 1}, nil
}

// Beginnings are what old addresses begin with: "//host/folder/", whatever their scheme is,
// or "/folder/".
func (f *Finder) Beginnings() []string {
	all := slices.Clone(f.given)
	for _, rule := range f.rules {
		all = append(all, rule.Beginning())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A Found is what stands for an old address.
type Found struct {
	New    string // with the fragment that the old one has
	Key    string // that the object goes by
	Kind   Kind
	Left   string // why New must not be used; empty if it may
	Width  int    // that the old address is for; 0: none
	owning claim
}

// Find finds what stands for an old address; ErrUnknown if nothing is known of that. It may
// be spelled in any way. A query that no rule knows does not count, such as one that only
// keeps browsers from using an old copy.
func (f *Finder) Find(ctx context.Context, address string) (Found, error) {
	s, ok := spell(address)
	if !ok {
		return Found{}, ErrUnknown
	}
	found, err := f.find(ctx, s)
	if errors.Is(err, ErrUnknown) && s.hasQuery {
		s.query, s.hasQuery = "", false
		found, err = f.find(ctx, s)
	}
	found.New += s.fragment
	return found, err
}

// A claim is how an address is known: by which rule, and which key.
type claim struct {
	rule int // -1: none, it is known as a whole
	match
}

func (f *Finder) find(ctx context.Context, s spelled) (Found, error) {
	for _, try := range [...]func(context.Context, spelled) (Found, error){f.plain, f.whole, f.sized} {
		if found, err := try(ctx, s); !errors.Is(err, ErrUnknown) {
			return found, err
		}
	}
	return Found{}, ErrUnknown
}

// plain finds an object by the rules without sizes.
func (f *Finder) plain(ctx context.Context, s spelled) (Found, error) {
	o, c, err := f.byRules(ctx, s, false)
	if err != nil {
		return Found{}, err
	}
	return Found{New: o.URL, Key: o.Key, Kind: o.Kind, Left: o.Left, owning: c}, nil
}

// whole finds an object whose source says that it had the address.
func (f *Finder) whole(ctx context.Context, s spelled) (Found, error) {
	if len(f.given) == 0 {
		return Found{}, ErrUnknown
	}
	o, err := f.journal.ByAddress(ctx, s.comparable())
	return Found{New: o.URL, Key: o.Key, Kind: Given, Left: o.Left, owning: claim{rule: -1, match: match{key: o.Key}}}, err
}

// sized finds an image by the rules with sizes.
func (f *Finder) sized(ctx context.Context, s spelled) (Found, error) {
	o, c, err := f.byRules(ctx, s, true)
	if err != nil {
		return Found{}, err
	}
	images, err := o.Images()
	return Found{New: imageOf(o.URL, images, c.width), Key: o.Key, Kind: Variant, Left: o.Left, Width: c.width, owning: c}, err
}

// byRules finds the object by all rules of a sort: of those that have the address, the one
// whose kind comes first.
func (f *Finder) byRules(ctx context.Context, s spelled, sizes bool) (best Object, by claim, err error) {
	err = ErrUnknown
	for n, rule := range f.rules {
		if rule.HasSizes() != sizes {
			continue
		}
		for _, m := range rule.matches(s) {
			o, key, found := f.byKey(ctx, s, m.key)
			if found != nil && !errors.Is(found, ErrUnknown) {
				return o, by, found
			}
			if found == nil && (err != nil || slices.Index(kinds, o.Kind) < slices.Index(kinds, best.Kind)) {
				best, by, err = o, claim{n, match{key, m.width}}, nil
			}
			if err == nil && best.Kind == Current {
				return best, by, nil
			}
		}
	}
	return best, by, err
}

// byKey finds an object by a key, in whatever form of Unicode, and gives the key that there is.
func (f *Finder) byKey(ctx context.Context, s spelled, key string) (o Object, is string, err error) {
	for _, is = range s.forms(key) {
		if o, err = f.journal.ByKey(ctx, is); !errors.Is(err, ErrUnknown) {
			return o, is, err
		}
	}
	return o, key, err
}

// imageOf is the address of an image that stands for one of a width: of the images that
// there are, the narrowest that is not narrower, or else the widest. What is no image has
// the address of its file.
func imageOf(url string, images map[string]string, width int) string {
	best, address := 0, url
	for name, image := range images {
		n, err := strconv.Atoi(name)
		if err != nil { // the default
			continue
		}
		if best == 0 || best < width && n > best || n >= width && n < best {
			best, address = n, image
		}
	}
	return address
}

// Keys gives the keys that an address may have been built from, the likeliest first: what
// Find asks the journal for.
func Keys(rules []*Template, address string) (keys []string) {
	s, ok := spell(address)
	if !ok {
		return nil
	}
	for _, sizes := range [...]bool{false, true} {
		for _, rule := range rules {
			if rule.HasSizes() != sizes {
				continue
			}
			for _, m := range rule.matches(s) {
				keys = append(keys, forms(m.key)...)
			}
		}
	}
	return keys
}
