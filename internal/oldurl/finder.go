// Package oldurl builds old URLs from the keys of objects, and finds the object of an old URL:
//
//	rules := []*Template{...}                 // ParseTemplate, or Prefix.Template
//	finder, err := NewFinder(ctx, rules, db)  // db: the keys that objects have or had
//	places := finder.Beginnings()             // "//cdn.example.com/img/", "/files/"
//	found, err := finder.Find(ctx, url)       // ErrUnknown, or the new URL
//
// Any spelling of a URL is found: with any scheme or none, encoded or not, in any form of Unicode,
// with an unknown query. Keys returns the possible keys of a URL without a state database.
package oldurl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A Kind is the source of an old URL. If several objects have the same URL, the first kind in this
// list counts.
type Kind string

// The kinds.
const (
	Current Kind = "current" // from the key of the object
	Former  Kind = "former"  // from an earlier key
	Alias   Kind = "alias"   // from the key of an object that shares its asset
	Given   Kind = "given"   // from the source, complete
	Variant Kind = "variant" // from any of the keys, in another size
)

var kinds = []Kind{Current, Former, Alias, Given, Variant}

// An Object is an object with an asset, as recorded in the state database.
type Object struct {
	Key  string // its current key
	Kind Kind   // of the key or URL in the query
	URL  string // of its asset
	Left string // the reason why URL must not be used, or ""
	// Images returns the URLs of an image in other sizes, by width.
	Images func() (map[string]string, error)
}

// An ObjectLookup finds objects by the keys and URLs that they have or had. It returns ErrUnknown if
// there is none.
type ObjectLookup interface {
	ByKey(ctx context.Context, key string) (Object, error)
	// ByURL finds an object by a given URL in the form of Comparable.
	ByURL(ctx context.Context, comparable string) (Object, error)
	// Beginnings returns the beginnings of all given URLs: "//host/", or "/".
	Beginnings(ctx context.Context) ([]string, error)
}

// ErrUnknown means that no object has a key or a URL.
var ErrUnknown = errors.New("unknown key or URL")

// A Finder finds the new URLs of old URLs.
type Finder struct {
	rules  []*Template
	lookup ObjectLookup
	given  []string // beginnings of given URLs
	alone  bool     // there is one rule without sizes, and it builds a different URL for each key
}

// NewFinder returns a finder for URLs of some rules, and for given URLs.
func NewFinder(ctx context.Context, rules []*Template, lookup ObjectLookup) (*Finder, error) {
	given, err := lookup.Beginnings(ctx)
	if err != nil {
		return nil, fmt.Errorf("read given URLs: %w", err)
	}
	plain := 0
	alone := true
	for _, rule := range rules {
		if !rule.HasSizes() {
			plain++
			alone = alone && rule.placeholders() == 1 && rule.has(ofPath)
		}
	}
	return &Finder{rules, lookup, given, alone && plain == 1}, nil
}

// Beginnings returns the beginnings of old URLs: "//host/folder/" for any scheme, or "/folder/".
func (f *Finder) Beginnings() []string {
	all := slices.Clone(f.given)
	for _, rule := range f.rules {
		all = append(all, rule.Beginning())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A Found is the result for an old URL.
type Found struct {
	New    string // with the fragment of the old URL
	Key    string // the current key of the object
	Kind   Kind
	Left   string // the reason why New must not be used, or ""
	Width  int    // in the old URL; 0 if it has none
	owning claim
}

// Find returns the new URL of an old URL in any spelling, or ErrUnknown. A query that no rule has
// is ignored, such as a version number for caches.
func (f *Finder) Find(ctx context.Context, url string) (Found, error) {
	s, ok := spell(url)
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

// A claim is the rule and the key that a URL was found by.
type claim struct {
	rule int // -1: it is a given URL
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

// plain finds an object by rules without sizes.
func (f *Finder) plain(ctx context.Context, s spelled) (Found, error) {
	o, c, err := f.byRules(ctx, s, false)
	if err != nil {
		return Found{}, err
	}
	return Found{New: o.URL, Key: o.Key, Kind: o.Kind, Left: o.Left, owning: c}, nil
}

// whole finds an object by a given URL.
func (f *Finder) whole(ctx context.Context, s spelled) (Found, error) {
	if len(f.given) == 0 {
		return Found{}, ErrUnknown
	}
	o, err := f.lookup.ByURL(ctx, s.comparable())
	if err != nil {
		return Found{}, err
	}
	url, width, err := f.ofGiven(ctx, s, o)
	return Found{New: url, Key: o.Key, Kind: Given, Left: o.Left, Width: width, owning: claim{rule: -1, match: match{key: o.Key}}}, err
}

// sized finds an image by rules with sizes.
func (f *Finder) sized(ctx context.Context, s spelled) (Found, error) {
	o, c, err := f.byRules(ctx, s, true)
	if err != nil {
		return Found{}, err
	}
	images, err := o.Images()
	return Found{New: imageOf(o.URL, images, c.width), Key: o.Key, Kind: Variant, Left: o.Left, Width: c.width, owning: c}, err
}

// byRules finds an object by all rules with sizes, or by all without. If several objects have the
// URL, it returns the one whose kind comes first.
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

// byKey finds an object by a key in any form of Unicode, and returns the form that exists.
func (f *Finder) byKey(ctx context.Context, s spelled, key string) (o Object, is string, err error) {
	for _, is = range s.forms(key) {
		if o, err = f.lookup.ByKey(ctx, is); !errors.Is(err, ErrUnknown) {
			return o, is, err
		}
	}
	return o, key, err
}

// imageOf returns the URL of an image for a width: the next wider image, or else the widest.
// Without images, it returns the URL of the file.
func imageOf(url string, images map[string]string, width int) string {
	best, chosen := 0, url
	for name, image := range images {
		n, err := strconv.Atoi(name)
		if err != nil { // the default
			continue
		}
		if best == 0 || best < width && n > best || n >= width && n < best {
			best, chosen = n, image
		}
	}
	return chosen
}

// Keys returns the possible keys of a URL, the most likely first. Find looks up these.
func Keys(rules []*Template, url string) (keys []string) {
	s, ok := spell(url)
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
