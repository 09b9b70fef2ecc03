package oldurl

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// An Old is an old address of an object.
type Old struct {
	Address string
	New     string
	Kind    Kind
	Width   int    // of a Variant
	TakenBy string // the key of another object that has it; empty if none has
}

// List yields all old addresses that an object has because of something it is known by: a
// key, or an address if it is known by that. Of addresses that cannot be listed it yields
// none. Which object has an address that two of them had is what Find says, so no address
// is there for both.
func (f *Finder) List(ctx context.Context, as string, o Object) iter.Seq2[Old, error] {
	return func(yield func(Old, error) bool) {
		if o.Kind == Given {
			f.settle(ctx, Old{Address: as, New: o.URL, Kind: Given}, o, claim{-1, match{key: o.Key}}, yield)
			return
		}
		for n, rule := range f.rules {
			if rule.CanList() && !f.listBy(ctx, n, as, o, yield) {
				return
			}
		}
	}
}

// listBy yields the addresses of an object by a rule.
func (f *Finder) listBy(ctx context.Context, n int, as string, o Object, yield func(Old, error) bool) bool {
	if f.rules[n].HasSizes() {
		return f.listSizes(ctx, n, as, o, yield)
	}
	return f.listPlain(ctx, n, as, o, yield)
}

// listPlain yields the address of an object by a rule without sizes.
func (f *Finder) listPlain(ctx context.Context, n int, as string, o Object, yield func(Old, error) bool) bool {
	address, ok := f.rules[n].Address(as, 0)
	return !ok || f.settle(ctx, Old{Address: address, New: o.URL, Kind: o.Kind}, o, claim{n, match{key: as}}, yield)
}

// listSizes yields the addresses of an image by a rule with sizes.
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
		if old.Address, ok = f.rules[n].Address(as, w); ok && !f.settle(ctx, old, o, claim{n, match{as, w}}, yield) {
			return false
		}
	}
	return true
}

// settle yields an address unless the object has it for another reason as well, and says
// which other object has it if one does.
func (f *Finder) settle(ctx context.Context, old Old, o Object, by claim, yield func(Old, error) bool) bool {
	if f.alone && by.width == 0 && by.rule >= 0 {
		return yield(old, nil)
	}
	s, ok := spell(old.Address)
	if !ok {
		return true
	}
	s.exact, s.fragment = true, ""
	if f.isSure(s, by, old.Kind) {
		return yield(old, nil)
	}
	found, err := f.find(ctx, s)
	switch {
	case errors.Is(err, ErrUnknown): // nothing else has it
	case err != nil:
		return yield(old, err)
	case found.Key != o.Key:
		old.TakenBy = found.Key
	case found.owning != by:
		return true
	}
	return yield(old, nil)
}

// isSure reports whether nothing but a claim can have an address, and nobody has to look.
func (f *Finder) isSure(s spelled, by claim, kind Kind) bool {
	if kind == Given || kind == Variant && f.mayBeGiven(s) {
		return false
	}
	for n, rule := range f.rules {
		if rule.HasSizes() && kind != Variant { // which goes after it
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
	address := s.comparable()
	return slices.ContainsFunc(f.given, func(begin string) bool { return strings.HasPrefix(address, begin) })
}

// Paths gives rules as web servers see them that are asked for paths: without hosts, and
// each once.
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

// WithoutHost is the path of an old address, with its query.
func WithoutHost(address string) string {
	if s, ok := spell(address); ok && s.host != "" {
		_, rest, _ := strings.Cut(address, "//")
		return rest[strings.IndexByte(rest, '/'):]
	}
	return address
}
