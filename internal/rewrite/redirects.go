package rewrite

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"assetferry/internal/hint"
	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
)

// Redirects are old URLs with the new ones that replace them.
type Redirects interface {
	Lookup
	Old() []string    // what old URLs begin with
	Others() []string // what others begin with that may be old ones, or not
	Assets() *Assets  // those that it leads to
	Unmet(yield func(Row, error) bool)
	Close() error
}

// A stateLookup is what a state database knows of the URLs of a source at a destination. What
// can be listed is copied into a map, which answers a hundred times as fast as the journal;
// that is asked for the rest: images in sizes that nobody knows, and what must stay.
type stateLookup struct {
	*Map
	ctx    context.Context
	m      *redirect.Map
	old    []string
	others []string
	recent map[string]Verdict
}

// recentAddresses is how many answers of the journal are kept.
const recentAddresses = 100_000

// OpenState gives the redirects that a state database knows, by rules for old URLs.
func OpenState(ctx context.Context, m *redirect.Map, rules []*oldurl.Template) (Redirects, error) {
	err := m.Build(ctx, rules)
	if err != nil {
		return nil, err
	}
	l := &stateLookup{ctx: ctx, m: m, recent: map[string]Verdict{}}
	for _, r := range rules {
		l.old = append(l.old, r.Beginning())
	}
	for _, begin := range m.Finder().Beginnings() {
		if !slices.Contains(l.old, begin) && begin != "/" {
			l.others = append(l.others, begin)
		}
	}
	l.Map, err = NewMap(listed(ctx, m))
	if e, ok := errors.AsType[*RowError](err); ok {
		return nil, hint.Usage(e, "assetferry urls lists old and new addresses; correct --old-prefix or the addresses in assetferry.yaml, or correct what it lists and give it with --map")
	}
	if err != nil {
		return nil, err
	}
	l.addPaths()
	return l, nil
}

// addPaths adds what addresses without a host begin with, of which rules or the journal say
// only that they are paths. Where rules build them, those that nobody knows are told.
func (l *stateLookup) addPaths() {
	list := &l.others
	if slices.Contains(l.old, "/") {
		list = &l.old
	}
	for _, begin := range l.Map.Old() {
		if !strings.HasPrefix(begin, "//") {
			*list = append(*list, begin)
		}
	}
}

// listed yields what can be listed.
func listed(ctx context.Context, m *redirect.Map) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for l, err := range m.All(ctx) {
			if err == nil && (l.Left != "" || !CanBeFound(l.Old)) {
				continue
			}
			if !yield(Row{Old: l.Old, New: l.New}, err) {
				return
			}
		}
	}
}

// Old implements Redirects.
func (l *stateLookup) Old() []string { return l.old }

// Others implements Redirects.
func (l *stateLookup) Others() []string { return l.others }

// Find implements Lookup.
func (l *stateLookup) Find(address string) (Verdict, error) {
	v, err := l.Map.Find(address)
	if err != nil || v.Kind != Unknown {
		return v, err
	}
	if v, known := l.recent[address]; known {
		return v, nil
	}
	if v, err = l.find(address); err != nil {
		return v, err
	}
	if len(l.recent) == recentAddresses {
		clear(l.recent)
	}
	l.recent[address] = v
	return v, nil
}

func (l *stateLookup) find(address string) (Verdict, error) {
	found, err := l.m.Finder().Find(l.ctx, address)
	if errors.Is(err, oldurl.ErrUnknown) {
		return Verdict{}, nil
	}
	if err != nil {
		return Verdict{}, err
	}
	if path, _, hasQuery := strings.Cut(address, "?"); hasQuery {
		// The finder leaves out what it does not know; how much of the text that is,
		// only the rewriter can tell.
		without, err := l.m.Finder().Find(l.ctx, path)
		if err == nil && without.Key == found.Key && without.New == found.New {
			return Verdict{}, nil
		}
	}
	l.Assets().Meet(Canonical(found.New))
	if found.Left != "" {
		return Verdict{Kind: Left, Why: found.Left}, nil
	}
	return Verdict{Kind: Replaced, New: found.New}, nil
}
