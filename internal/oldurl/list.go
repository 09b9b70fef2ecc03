package oldurl

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// An Old is an old URL of an object.
type Old struct {
	URL     string
	New     string
	Kind    Kind
	Width   int    // of a Variant or of a given size; 0 for the whole file
	TakenBy string // the key of another object that the URL leads to, or ""
}

// List yields all old URLs that an object has by a key, or by a given URL. It omits URLs that
// cannot be listed. If two objects have the same URL, Find decides which one it leads to.
func (f *Finder) List(ctx context.Context, as string, o Object) iter.Seq2[Old, error] {
	return func(yield func(Old, error) bool) {
		if o.Kind == Given {
			f.listGiven(ctx, as, o, yield)
			return
		}
		for n, rule := range f.rules {
			if rule.CanList() && !f.listBy(ctx, n, as, o, yield) {
				return
			}
		}
	}
}

// listGiven yields a given URL of an object.
func (f *Finder) listGiven(ctx context.Context, as string, o Object, yield func(Old, error) bool) {
	s, ok := spell(as)
	if !ok {
		return
	}
	url, width, err := f.ofGiven(ctx, s, o)
	if err != nil {
		yield(Old{}, err)
		return
	}
	f.yieldOnce(ctx, Old{URL: as, New: url, Kind: Given, Width: width}, o, claim{-1, match{key: o.Key}}, yield)
}

// listBy yields the URLs of an object from a rule.
func (f *Finder) listBy(ctx context.Context, n int, as string, o Object, yield func(Old, error) bool) bool {
	if f.rules[n].HasSizes() {
		return f.listSizes(ctx, n, as, o, yield)
	}
	return f.listPlain(ctx, n, as, o, yield)
}

// listPlain yields the URL of an object from a rule without sizes.
func (f *Finder) listPlain(ctx context.Context, n int, as string, o Object, yield func(Old, error) bool) bool {
	url, ok := f.rules[n].URL(as, 0)
	return !ok || f.yieldOnce(ctx, Old{URL: url, New: o.URL, Kind: o.Kind}, o, claim{n, match{key: as}}, yield)
}

// listSizes yields the URLs of an image from a rule with sizes.
func (f *Finder) listSizes(ctx context.Context, n int, as string, o Object, yield func(Old, error) bool) bool {
	images, err := o.Images()
	if err != nil {
		yield(Old{}, err)
		return false
	}
	if len(images) == 0 {
		return true
	}
	for _, w := range f.rules[n].widths {
		old := Old{New: imageOf(o.URL, images, w), Kind: Variant, Width: w}
		var ok bool
		if old.URL, ok = f.rules[n].URL(as, w); ok && !f.yieldOnce(ctx, old, o, claim{n, match{as, w}}, yield) {
			return false
		}
	}
	return true
}

// yieldOnce yields a URL unless another claim of the same object yields it, too. If it leads to
// another object, it sets TakenBy.
func (f *Finder) yieldOnce(ctx context.Context, old Old, o Object, by claim, yield func(Old, error) bool) bool {
	if f.alone && by.width == 0 && by.rule >= 0 {
		return yield(old, nil)
	}
	s, ok := spell(old.URL)
	if !ok {
		return true
	}
	s.exact, s.fragment = true, ""
	if f.isSure(s, by, old.Kind) {
		return yield(old, nil)
	}
	found, err := f.find(ctx, s)
	switch {
	case errors.Is(err, ErrUnknown): // there is no other claim
	case err != nil:
		return yield(old, err)
	case found.Key != o.Key:
		old.TakenBy = found.Key
	case found.owning != by:
		return true
	}
	return yield(old, nil)
}

// isSure reports whether no other claim can have a URL, so that no lookup is needed.
func (f *Finder) isSure(s spelled, by claim, kind Kind) bool {
	if kind == Given || kind == Variant && f.mayBeGiven(s) {
		return false
	}
	for n, rule := range f.rules {
		if rule.HasSizes() && kind != Variant { // a variant has lower precedence
			continue
		}
		if slices.ContainsFunc(rule.matches(s), func(m match) bool { return n != by.rule || m != by.match }) {
			return false
		}
	}
	return true
}

func (f *Finder) mayBeGiven(s spelled) bool {
	if len(f.given) == 0 {
		return false
	}
	url := s.comparable()
	return slices.ContainsFunc(f.given, func(begin string) bool { return strings.HasPrefix(url, begin) })
}

// Paths returns the rules without hosts and without duplicates, for web servers that compare
// paths.
func Paths(rules []*Template) (paths []*Template) {
	for _, rule := range rules {
		path := *rule
		path.scheme, path.host = "", ""
		if !slices.ContainsFunc(paths, func(p *Template) bool { return p.String() == path.String() && slices.Equal(p.widths, path.widths) }) {
			paths = append(paths, &path)
		}
	}
	return paths
}

// WithoutHost returns the path of an old URL, with its query.
func WithoutHost(url string) string {
	if s, ok := spell(url); ok && s.host != "" {
		_, rest, _ := strings.Cut(url, "//")
		return rest[strings.IndexByte(rest, '/'):]
	}
	return url
}
