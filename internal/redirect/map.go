package redirect

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"assetferry/internal/oldurl"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// Reasons why a URL is omitted.
const (
	LeftPrivate    = "private"
	LeftUnknown    = "privacy_unknown"
	LeftWithoutURL = "no_url"
	LeftTooLong    = "too_long"
	LeftQuery      = "query"
	LeftHost       = "no_host"
	LeftCharacters = "characters"
	LeftNotHTTPS   = "not_https"
	LeftTaken      = "taken"
)

// An OmissionReason is a reason why URLs are omitted: its code, a text that continues "Omitted: 3 URLs",
// and a hint.
type OmissionReason struct{ Reason, Text, Hint string }

// OmissionReasons returns all reasons in display order.
func OmissionReasons() []OmissionReason {
	return []OmissionReason{
		{LeftPrivate, "in private categories", ""},
		{LeftUnknown, "in categories of unknown privacy", "check the categories:\n  assetferry verify"},
		{LeftWithoutURL, "of assets without a URL from the service", ""},
		{LeftTooLong, "longer than the limit of the web server", "copy them from the TSV, and redirect them by hand"},
		{LeftHost, "without a host, or with a port, which Bulk Redirects do not compare", "copy them from the TSV, and redirect them by hand"},
		{LeftCharacters, "with characters that have another meaning in this format, such as *", "copy them from the TSV, and redirect them by hand"},
		{LeftNotHTTPS, "that lead to http://, to which the service does not redirect", ""},
		{LeftQuery, "with a query, which maps of web servers do not compare", "copy them from the TSV, and redirect them by hand"},
		{LeftTaken, "that other objects have, too", ""},
	}
}

// shownTaken is how many URLs of several objects are listed.
const shownTaken = 5

// A Map lists old and new URLs of a source at a destination, from the state database.
type Map struct {
	Images    bool          // with the URLs of all image sizes
	PathsOnly bool          // only paths of old URLs, for web servers that compare paths
	NewOnly   bool          // each new URL once
	Wave      *migrate.Wave // only its objects; nil: all

	store      *state.Store
	pair       state.Pair // the zero Pair if there is no asset
	run        int64      // 0: of all runs
	finder     *oldurl.Finder
	anywhere   []string // beginnings of given URLs, if hosts are ignored
	categories map[string]state.Category
}

// Open returns the map of a source at a destination, for one run, or for all if run is 0. Call
// Build before use.
func Open(ctx context.Context, store *state.Store, pair state.Pair, run int64) (*Map, error) {
	categories, err := store.Categories(ctx, pair.Destination)
	return &Map{store: store, pair: pair, run: run, categories: categories}, err
}

// Finder returns the finder of old URLs.
func (m *Map) Finder() *oldurl.Finder { return m.finder }

// Build sets the templates of old URLs.
func (m *Map) Build(ctx context.Context, rules []*oldurl.Template) (err error) {
	if m.PathsOnly {
		rules = oldurl.Paths(rules)
	}
	m.finder, err = oldurl.NewFinder(ctx, rules, m)
	return err
}

// ByKey implements oldurl.ObjectLookup.
func (m *Map) ByKey(ctx context.Context, key string) (oldurl.Object, error) {
	return m.objectOf(m.store.AssetURLByKey(ctx, m.pair.ID, sources.Key(key)))
}

// ByURL implements oldurl.ObjectLookup. If only paths are compared, the URL may have any host.
func (m *Map) ByURL(ctx context.Context, comparable string) (oldurl.Object, error) {
	if !m.PathsOnly {
		return m.objectOf(m.store.AssetURLByOldURL(ctx, m.pair.ID, comparable))
	}
	var all []string
	for _, begin := range m.anywhere {
		all = append(all, strings.TrimSuffix(begin, "/")+comparable)
	}
	return m.objectOf(m.store.AssetURLByOldURL(ctx, m.pair.ID, all...))
}

// Beginnings implements oldurl.ObjectLookup.
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

// An Entry is an object with its URLs, or the reason why they are omitted.
type Entry struct {
	Row
	Left    string // the reason
	TakenBy string // the key of the object that has the old URL
}

// All yields all objects with assets, with all their old URLs, in the order of keys.
func (m *Map) All(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var paths givenPaths
		for at, err := range m.store.AssetURLs(ctx, m.pair.ID, m.run) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !m.includes(at) {
				continue
			}
			if m.NewOnly && at.Known != state.ByKey || m.PathsOnly && !paths.take(&at) {
				continue
			}
			if !m.urlsOf(ctx, at, yield) {
				return
			}
		}
	}
}

// includes reports whether a URL belongs to the wave: an object that was moved to another wave leaves
// the URL of its former key behind.
func (m *Map) includes(at state.AssetURL) bool {
	if at.Known == state.ByOldURL {
		return m.Wave.HasKey(at.Key)
	}
	return m.Wave.HasKey(sources.Key(at.As))
}

// givenPaths are the paths of the given URLs of one object. These come one after the other. Each
// path is written once, even if it was at several hosts.
type givenPaths struct {
	key  sources.Key
	seen map[string]bool
}

// take removes the host from a given URL, and reports whether the path is new for the object.
// Other kinds of URLs do not change.
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

// urlsOf yields all old URLs that an object has by a key or by a given URL.
func (m *Map) urlsOf(ctx context.Context, at state.AssetURL, yield func(Entry, error) bool) bool {
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
		l.Old, l.New, l.Kind, l.Width = old.URL, old.New, old.Kind, old.Width
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

// whyLeft returns the reason for omitting a URL, or "".
func (m *Map) whyLeft(at state.AssetURL) string {
	category, known := m.categories[at.Category]
	switch {
	case !known:
		return LeftUnknown
	case category.Private:
		return LeftPrivate
	case !strings.HasPrefix(at.URL, "https://") && !strings.HasPrefix(at.URL, "http://"):
		return LeftWithoutURL
	}
	return ""
}

// whyOmitted returns the reason for an error of Write, or "".
func whyOmitted(err error) string {
	for _, o := range []struct {
		err  error
		left string
	}{
		{ErrTooLong, LeftTooLong}, {ErrQuery, LeftQuery}, {ErrHost, LeftHost}, {ErrCharacters, LeftCharacters}, {ErrNotHTTPS, LeftNotHTTPS},
	} {
		if errors.Is(err, o.err) {
			return o.left
		}
	}
	return ""
}

// A Tally counts URLs.
type Tally struct {
	Written, Verified int64
	Bytes             int64            // of the map
	Omitted           map[string]int64 // by reason
	Taken             []Entry          // some of those that another object has
}

// OmittedByFormat reports whether URLs are omitted that another format can contain.
func (t *Tally) OmittedByFormat() bool {
	for _, left := range []string{LeftTooLong, LeftQuery, LeftHost, LeftCharacters, LeftNotHTTPS} {
		if t.Omitted[left] > 0 {
			return true
		}
	}
	return false
}

// leave counts an omitted URL.
func (t *Tally) leave(l Entry) {
	if t.Omitted[l.Left]++; l.Left == LeftTaken && len(t.Taken) < shownTaken {
		t.Taken = append(t.Taken, l)
	}
}

// Write writes the map in a format. It writes nothing and returns a LimitError if the whole map is
// larger than the service accepts.
func (m *Map) Write(ctx context.Context, w io.Writer, format string) (Tally, error) {
	f, _ := FormatOf(format)
	summary := newPathSummary(format)
	if f.listing {
		if err := m.summarise(ctx, summary); err != nil {
			return Tally{}, err
		}
	}
	if f.limits.stops() {
		t, err := m.writeCounted(ctx, io.Discard, f, summary)
		if err == nil {
			err = f.limits.check(t, format)
		}
		if err != nil {
			return Tally{}, err
		}
	}
	return m.writeCounted(ctx, w, f, summary)
}

// summarise adds the rows of the map to a summary.
func (m *Map) summarise(ctx context.Context, s *PathSummary) error {
	for l, err := range m.All(ctx) {
		if err == nil && l.Left == "" {
			err = s.Add(l.Row)
		}
		if errors.Is(err, ErrQuery) {
			continue // WriteTo skips it, too
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Map) writeCounted(ctx context.Context, w io.Writer, f Format, s *PathSummary) (Tally, error) {
	counted := &counter{w: w}
	to, err := New(f.Name, counted, s)
	if err != nil {
		return Tally{}, err
	}
	t, err := m.WriteTo(ctx, to)
	t.Bytes = counted.bytes
	return t, err
}

// A counter counts the bytes that are written to a writer.
type counter struct {
	w     io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.bytes += int64(n)
	return n, err
}

// WriteTo writes the rows of the map to a Writer, and closes it.
func (m *Map) WriteTo(ctx context.Context, w Writer) (Tally, error) {
	t := Tally{Omitted: map[string]int64{}}
	for l, err := range m.All(ctx) {
		if err == nil && l.Left == "" {
			err = w.Write(l.Row)
		}
		if errors.Is(err, errRepeated) {
			continue
		}
		if left := whyOmitted(err); left != "" {
			l.Left, err = left, nil
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
