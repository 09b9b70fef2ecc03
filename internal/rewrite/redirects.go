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

// Redirects are old URLs with their new URLs.
type Redirects interface {
	Lookup
	Old() []string    // beginnings of old URLs
	Others() []string // beginnings of URLs that may be old
	Assets() *Assets  // the targets
	Unmet(yield func(Row, error) bool)
	Close() error
}

// A stateLookup looks up old URLs of a source at a destination. URLs that can be listed are copied
// into a map, which is a hundred times as fast as the state database. The state database has the
// rest: image sizes that cannot be listed, and URLs that must stay.
type stateLookup struct {
	*Map
	ctx    context.Context
	m      *redirect.Map
	old    []string
	others []string
	recent map[string]Verdict
}

// recentURLs is the number of cached answers of the state database.
const recentURLs = 100_000

// OpenState returns the redirects of a state database, with rules for old URLs.
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
		return nil, hint.Usage(e, "correct --old-prefix or old_urls in assetferry.yaml. Or write a map, correct it, and use it with --map:\n  assetferry urls --output urls.tsv")
	}
	if err != nil {
		return nil, err
	}
	l.addPaths()
	return l, nil
}

// addPaths adds the beginnings of URLs without a host. Unknown URLs are reported only if rules build
// such paths.
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

// listed yields the rows that can be listed.
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
func (l *stateLookup) Find(url string) (Verdict, error) {
	v, err := l.Map.Find(url)
	if err != nil || v.Kind != Unknown {
		return v, err
	}
	if v, known := l.recent[url]; known {
		return v, nil
	}
	if v, err = l.find(url); err != nil {
		return v, err
	}
	if len(l.recent) == recentURLs {
		clear(l.recent)
	}
	l.recent[url] = v
	return v, nil
}

func (l *stateLookup) find(url string) (Verdict, error) {
	found, err := l.m.Finder().Find(l.ctx, url)
	if errors.Is(err, oldurl.ErrUnknown) {
		return Verdict{}, nil
	}
	if err != nil {
		return Verdict{}, err
	}
	if path, _, hasQuery := strings.Cut(url, "?"); hasQuery {
		// The finder ignores an unknown query. Only the rewriter can find its end in the text.
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
