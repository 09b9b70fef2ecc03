package redirect

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"assetferry/internal/oldurl"
	"assetferry/sources"
	"assetferry/state"
)

// Why an address is not written.
const (
	LeftPrivate     = "private"
	LeftUnknown     = "privacy_unknown"
	LeftUnaddressed = "no_address"
	LeftTooLong     = "too_long"
	LeftQuery       = "query"
	LeftTaken       = "taken"
)

// A LeftOut says why URLs are not written, and what helps.
type LeftOut struct{ Reason, Text, Hint string }

// LeftOutReasons are all reasons in the order in which they are shown.
func LeftOutReasons() []LeftOut {
	return []LeftOut{
		{LeftPrivate, "in private categories", ""},
		{LeftUnknown, "in categories of which it is not known whether they are private", "assetferry verify asks the service"},
		{LeftUnaddressed, "for which the service gave no address", ""},
		{LeftTooLong, "longer than the web server reads", "take them out of the TSV, and redirect them by hand"},
		{LeftQuery, "with a query, which the maps of web servers do not compare", "take them out of the TSV, and redirect them by hand"},
		{LeftTaken, "because another object has the same old address", ""},
	}
}

// shownTaken is how many URLs are named that two objects had.
const shownTaken = 5

// A Map is what a state database knows of the URLs of a source at a destination.
type Map struct {
	Images    bool // URLs of all sizes are wanted
	PathsOnly bool // of old URLs, because that is what is compared
	NewOnly   bool // each new URL once

	store      *state.Store
	pair       state.Pair // the zero Pair if nothing has arrived
	run        int64      // 0: of all runs
	finder     *oldurl.Finder
	anywhere   []string // what given addresses begin with, if hosts do not count
	categories map[string]state.Category
}

// Open gives the map of a source at a destination, for what one run brought or for all runs
// if it is 0. Before use it is told the rules of old URLs, see Build.
func Open(ctx context.Context, store *state.Store, pair state.Pair, run int64) (*Map, error) {
	categories, err := store.Categories(ctx, pair.Destination)
	return &Map{store: store, pair: pair, run: run, categories: categories}, err
}

// Finder finds what stands for old URLs.
func (m *Map) Finder() *oldurl.Finder { return m.finder }

// Build has the map build old URLs by rules.
func (m *Map) Build(ctx context.Context, rules []*oldurl.Template) (err error) {
	if m.PathsOnly {
		rules = oldurl.Paths(rules)
	}
	m.finder, err = oldurl.NewFinder(ctx, rules, m)
	return err
}

// ByKey finds an object for the finder, as do the next two.
func (m *Map) ByKey(ctx context.Context, key string) (oldurl.Object, error) {
	return m.objectOf(m.store.AssetURLByKey(ctx, m.pair.ID, sources.Key(key)))
}

// ByAddress finds an object by an address that it had; at any host, where paths are compared.
func (m *Map) ByAddress(ctx context.Context, comparable string) (oldurl.Object, error) {
	if !m.PathsOnly {
		return m.objectOf(m.store.AssetURLByOldURL(ctx, m.pair.ID, comparable))
	}
	var all []string
	for _, begin := range m.anywhere {
		all = append(all, strings.TrimSuffix(begin, "/")+comparable)
	}
	return m.objectOf(m.store.AssetURLByOldURL(ctx, m.pair.ID, all...))
}

// Beginnings are those of addresses that objects had.
func (m *Map) Beginnings(ctx context.Context) ([]string, error) {
	all, err := m.store.OldURLPrefixes(ctx, m.pair.ID)
	if !m.PathsOnly || len(all) == 0 {
		return all, err
	}
	m.anywhere = all
	return []string{"/"}, err
}

func (m *Map) objectOf(at state.AssetURL, err error) (oldurl.Object, error) {
	if errors.Is(err, state.ErrNotFound) {
		return oldurl.Object{}, oldurl.ErrUnknown
	}
	kind := [...]oldurl.Kind{state.ByKey: oldurl.Current, state.ByFormerKey: oldurl.Former, state.ByAlias: oldurl.Alias,
		state.ByOldURL: oldurl.Given}[at.Known]
	return oldurl.Object{Key: string(at.Key), Kind: kind, URL: at.URL, Left: m.whyLeft(at), Images: at.Images}, err
}

// An Entry is an object with its addresses, or the reason why they must not be written.
type Entry struct {
	Row
	Left    string // the reason
	TakenBy string // the key of the object that has the old address
}

// All yields everything that has arrived, with all its old addresses, in the order of keys.
func (m *Map) All(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var paths givenPaths
		for at, err := range m.store.AssetURLs(ctx, m.pair.ID, m.run) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if m.NewOnly && at.Known != state.ByKey || m.PathsOnly && !paths.take(&at) {
				continue
			}
			if !m.addressesOf(ctx, at, yield) {
				return
			}
		}
	}
}

// givenPaths are the paths of the given addresses of one object, which are listed together:
// each is written once, at however many hosts it was.
type givenPaths struct {
	key  sources.Key
	seen map[string]bool
}

// take takes the host off a given address, and reports whether its path is a new one of the
// object. All others are left alone.
func (p *givenPaths) take(at *state.AssetURL) bool {
	if at.Known != state.ByOldURL {
		return true
	}
	if p.seen == nil || p.key != at.Key {
		p.key, p.seen = at.Key, map[string]bool{}
	}
	at.As = oldurl.WithoutHost(at.As)
	path := oldurl.Comparable(at.As)
	isNew := !p.seen[path]
	p.seen[path] = true
	return isNew
}

// addressesOf yields all old addresses that an object has because of something it is known
// by.
func (m *Map) addressesOf(ctx context.Context, at state.AssetURL, yield func(Entry, error) bool) bool {
	o, _ := m.objectOf(at, nil)
	row := Row{Key: string(at.Key), AssetID: at.Asset, Size: at.Size, Verified: at.Verified}
	if m.Images {
		var err error
		if row.Images, err = at.Images(); err != nil {
			return yield(Entry{}, err)
		}
	}
	for old, err := range m.finder.List(ctx, at.As, o) {
		l := Entry{row, o.Left, cmp.Or(string(at.TakenBy), old.TakenBy)}
		l.Old, l.New, l.Kind, l.Width = old.Address, old.New, old.Kind, old.Width
		if l.Width > 0 {
			l.Images = nil
		}
		if l.TakenBy != "" && l.Left == "" {
			l.Left = LeftTaken
		}
		if !yield(l, err) {
			return false
		}
	}
	return true
}

// whyLeft says why an address must not be written; nothing if it may be.
func (m *Map) whyLeft(at state.AssetURL) string {
	category, known := m.categories[at.Category]
	switch {
	case !known:
		return LeftUnknown
	case category.Private:
		return LeftPrivate
	case !strings.HasPrefix(at.URL, "https://") && !strings.HasPrefix(at.URL, "http://"):
		return LeftUnaddressed
	}
	return ""
}

// A Tally counts URLs.
type Tally struct {
	Written, Verified int64
	LeftOut           map[string]int64 // by reason
	Taken             []Entry          // some of those that another object has
}

// leave counts an address that is not written.
func (t *Tally) leave(l Entry) {
	if t.LeftOut[l.Left]++; l.Left == LeftTaken && len(t.Taken) < shownTaken {
		t.Taken = append(t.Taken, l)
	}
}

// Write writes the map in a format.
func (m *Map) Write(ctx context.Context, w io.Writer, format string) (Tally, error) {
	survey := &Survey{}
	if NeedsListing(format) {
		for l, err := range m.All(ctx) {
			if err == nil && l.Left == "" {
				err = survey.Add(l.Row)
			}
			if errors.Is(err, ErrQuery) {
				continue // as when it is written
			}
			if err != nil {
				return Tally{}, err
			}
		}
	}
	to, err := New(format, w, survey)
	if err != nil {
		return Tally{}, err
	}
	return m.WriteTo(ctx, to)
}

// WriteTo writes the map as rows.
func (m *Map) WriteTo(ctx context.Context, w Writer) (Tally, error) {
	t := Tally{LeftOut: map[string]int64{}}
	for l, err := range m.All(ctx) {
		if err == nil && l.Left == "" {
			err = w.Write(l.Row)
		}
		switch {
		case errors.Is(err, ErrTooLong):
			l.Left, err = LeftTooLong, nil
		case errors.Is(err, ErrQuery):
			l.Left, err = LeftQuery, nil
		}
		switch {
		case err != nil:
			return t, err
		case l.Left != "":
			t.leave(l)
			continue
		}
		t.Written++
		if l.Verified {
			t.Verified++
		}
	}
	return t, w.Close()
}
