package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"strings"

	"assetferry/sources"
)

// An AssetURL is the URL of an object's asset, with one key or old URL of the object.
type AssetURL struct {
	Known    KnownBy
	As       string      // the present or former key, or the old URL
	Key      sources.Key // of the receipt
	Size     int64
	Asset    string
	Category string
	URL      string
	// Verified says that the last verification of the pair came after the content of the asset, and
	// found no difference; only set in lists.
	Verified bool
	// TakenBy is the key of another object that has, or had, the key As; only set in lists.
	TakenBy sources.Key
	images  sql.NullString // packed
}

// KnownBy is the kind of name in AssetURL.As.
type KnownBy int

// The kinds, in the order of precedence: if two objects claim the same key or URL, the first kind
// here wins.
const (
	ByKey       KnownBy = iota // of the receipt
	ByFormerKey                // as a key that it went by
	ByAlias                    // as the key of an object that has the same asset
	ByOldURL                   // an old URL from the metadata
)

// Images returns the URLs of an image in other sizes, by width, and "default"; none for other
// files.
func (a AssetURL) Images() (map[string]string, error) { return unpackImages(a.URL, a.images) }

// urlColumns are the columns of a receipt r.
const urlColumns = `r.key, r.size, r.asset, r.base, r.category, r.url, r.images`

func scanURL(rows *sql.Rows) (a AssetURL, base sql.NullInt64, err error) {
	err = rows.Scan(&a.Known, &a.As, (*string)(&a.Key), &a.Size, &a.Asset, &base, &a.Category, &a.URL, &a.images, &a.Verified, (*string)(&a.TakenBy))
	return a, base, err
}

func (a *AssetURL) complete(b base) { a.Category, a.URL = b.category, b.url(a.Asset) }

// An urlList lists URLs of a pair.
type urlList struct {
	*Store
	pair, run int64
	by        verifiedBy
}

// AssetURLs lists the URLs of the assets of a pair: those that a run created or adopted, or all if
// run is 0. Each has an entry for its key, former keys, aliases and old URLs, in key order; old
// URLs come after their key.
func (s *Store) AssetURLs(ctx context.Context, pair, run int64) iter.Seq2[AssetURL, error] {
	return func(yield func(AssetURL, error) bool) {
		by, err := s.verifiedBy(ctx, pair)
		if err != nil {
			yield(AssetURL{}, err)
			return
		}
		l := urlList{s, pair, run, by}
		merged(AssetURL.compare, l.keys(ctx), l.formerKeys(ctx), l.aliases(ctx), l.oldURLs(ctx))(yield)
	}
}

// compare orders URLs as they are listed.
func (a AssetURL) compare(b AssetURL) int {
	return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.Known, b.Known), cmp.Compare(a.As, b.As))
}

// place returns the key under which a URL is listed.
func (a AssetURL) place() string {
	if a.Known == ByOldURL {
		return string(a.Key)
	}
	return a.As
}

// ofRun selects the listed receipts, with the parameters ?4 and ?6. The first three are those of
// isVerified.
const ofRun = `r.pair = ?4 AND ?6 IN (0, r.run)`

// page reads URLs of a kind: a query with ?5 for the position, and ?7 for the maximum number of
// rows.
func (l urlList) page(ctx context.Context, scan func(*sql.Rows) (AssetURL, sql.NullInt64, error), stmt string, after any, more ...any) ([]AssetURL, error) {
	return queryBased(ctx, l.Store, "list URLs", scan, (*AssetURL).complete, stmt,
		append([]any{l.by.whole, l.by.waves, l.by.different, l.pair, after, l.run, PageSize}, more...)...)
}

func (l urlList) byKey(ctx context.Context, scan func(*sql.Rows) (AssetURL, sql.NullInt64, error), stmt string) iter.Seq2[AssetURL, error] {
	return paged(l.r, "", func(a AssetURL) string { return a.As }, func(after string) ([]AssetURL, error) { return l.page(ctx, scan, stmt, after) })
}

// keys are most of the list, so they have the fewest columns.
func (l urlList) keys(ctx context.Context) iter.Seq2[AssetURL, error] {
	scan := func(rows *sql.Rows) (a AssetURL, base sql.NullInt64, err error) {
		err = rows.Scan(&a.As, &a.Size, &a.Asset, &base, &a.Category, &a.URL, &a.images, &a.Verified)
		a.Key = sources.Key(a.As)
		return a, base, err
	}
	return l.byKey(ctx, scan, `SELECT `+urlColumns+`, `+isVerified+` FROM receipts r WHERE `+ofRun+` AND r.key > ?5 ORDER BY r.key LIMIT ?7`)
}

// formerKeys and aliases join CROSS so that the few keys come first.
func (l urlList) formerKeys(ctx context.Context) iter.Seq2[AssetURL, error] {
	return l.byKey(ctx, scanURL, `SELECT 1, k.key, `+urlColumns+`, `+isVerified+`,
			coalesce((SELECT c.key FROM receipts c WHERE c.pair = ?4 AND c.key = k.key), '')
		FROM former_keys k CROSS JOIN receipts r ON r.key = k.owner AND `+ofRun+`
		WHERE k.pair = ?4 AND k.key > ?5 ORDER BY k.key LIMIT ?7`)
}

func (l urlList) aliases(ctx context.Context) iter.Seq2[AssetURL, error] {
	return l.byKey(ctx, scanURL, `SELECT 2, k.key, `+urlColumns+`, `+isVerified+`, coalesce((SELECT c.key FROM receipts c WHERE c.pair = ?4 AND c.key = k.key),
			(SELECT f.owner FROM former_keys f JOIN receipts c ON c.pair = ?4 AND c.key = f.owner WHERE f.pair = ?4 AND f.key = k.key), '')
		FROM aliases k CROSS JOIN receipts r ON r.key = k.owner AND r.checksum = k.checksum AND `+ofRun+`
		WHERE k.pair = ?4 AND k.key > ?5 ORDER BY k.key LIMIT ?7`)
}

// oldURLs lists old URLs of objects. Callers have to check for duplicates: an old URL may also be
// derived from a key.
func (l urlList) oldURLs(ctx context.Context) iter.Seq2[AssetURL, error] {
	return func(yield func(AssetURL, error) bool) {
		var last AssetURL
		for {
			all, err := l.page(ctx, scanURL, `SELECT 3, k.url, `+urlColumns+`, `+isVerified+`, ''
				FROM old_urls k CROSS JOIN receipts r ON r.key = k.key AND `+ofRun+`
				WHERE k.pair = ?4 AND (k.key, k.url) > (?5, ?8) ORDER BY k.key, k.url LIMIT ?7`, last.Key, last.As)
			if err != nil {
				yield(AssetURL{}, err)
				return
			}
			for _, last = range all {
				if !yield(last, nil) {
					return
				}
			}
			if len(all) < PageSize {
				return
			}
		}
	}
}

const (
	assetURLByKey = `SELECT * FROM (
		SELECT 0, ?2, ` + urlColumns + `, 0, '' FROM receipts r WHERE r.pair = ?1 AND r.key = ?2
		UNION ALL SELECT 1, ?2, ` + urlColumns + `, 0, '' FROM former_keys k CROSS JOIN receipts r ON r.pair = ?1 AND r.key = k.owner WHERE k.pair = ?1 AND k.key = ?2
		UNION ALL SELECT 2, ?2, ` + urlColumns + `, 0, '' FROM aliases k CROSS JOIN receipts r ON r.pair = ?1 AND r.key = k.owner AND r.checksum = k.checksum WHERE k.pair = ?1 AND k.key = ?2
		) ORDER BY 1 LIMIT 1`
	assetURLByOldURL = `SELECT 3, k.url, ` + urlColumns + `, 0, ''
		FROM (SELECT value FROM json_each(?2)) a CROSS JOIN old_urls k ON k.pair = ?1 AND k.comparable = a.value
		CROSS JOIN receipts r ON r.pair = ?1 AND r.key = k.key
		ORDER BY r.key LIMIT 1`
)

// AssetURLByKey returns the URL of the object with a key, or else with that former key, or else of
// the owner of that alias; ErrNotFound if there is none.
func (s *Store) AssetURLByKey(ctx context.Context, pair int64, key sources.Key) (AssetURL, error) {
	all, err := queryBased(ctx, s, "find URL", scanURL, (*AssetURL).complete, assetURLByKey, pair, key)
	return First(all, err, "URL of "+string(key))
}

// AssetURLByOldURL finds the object that had one of some URLs, by its source; ErrNotFound if there
// is none. The URLs must be in comparable form. If there are several objects, it returns the first
// by key.
func (s *Store) AssetURLByOldURL(ctx context.Context, pair int64, comparable ...string) (AssetURL, error) {
	these, err := json.Marshal(comparable)
	if err != nil {
		return AssetURL{}, err
	}
	all, err := queryBased(ctx, s, "find URL", scanURL, (*AssetURL).complete, assetURLByOldURL, pair, string(these))
	return First(all, err, "URL "+strings.Join(comparable, ", "))
}

// OldURLPrefixes lists the prefixes of the old URLs of a pair: "//host/", or "/". Each takes one
// index lookup, whatever the number of URLs. The byte after a slash in order is a zero.
func (s *Store) OldURLPrefixes(ctx context.Context, pair int64) ([]string, error) {
	return query(ctx, s.r, "list old URLs", scanText, `WITH RECURSIVE hosts (c) AS (
			SELECT min(comparable) FROM old_urls WHERE pair = ?1 AND comparable >= '//' AND comparable < '/0'
			UNION ALL SELECT (SELECT min(comparable) FROM old_urls
				WHERE pair = ?1 AND comparable >= substr(c, 1, 1 + instr(substr(c, 3), '/')) || '0' AND comparable < '/0')
			FROM hosts WHERE c IS NOT NULL)
		SELECT substr(c, 1, 2 + instr(substr(c, 3), '/')) FROM hosts WHERE c IS NOT NULL
		UNION ALL SELECT '/' WHERE EXISTS (SELECT 1 FROM old_urls WHERE pair = ?1 AND comparable < '//')
			OR EXISTS (SELECT 1 FROM old_urls WHERE pair = ?1 AND comparable >= '/0')`, pair)
}

// merged merges sequences with the same order. The first one may be long: it is read directly,
// because iter.Pull would cost more than reading it.
func merged[T any](compare func(T, T) int, long iter.Seq2[T, error], short ...iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		m := merger[T]{compare: compare, yield: yield}
		for _, rows := range short {
			next, stop := iter.Pull2(rows)
			defer stop()
			if !m.advance(next) {
				return
			}
		}
		for row, err := range long {
			if err != nil {
				yield(row, err)
				return
			}
			if !m.before(&row) || !yield(row, nil) {
				return
			}
		}
		m.before(nil)
	}
}

// A merger has the first rows of the short sequences that are not at their end.
type merger[T any] struct {
	compare func(T, T) int
	yield   func(T, error) bool
	heads   []head[T]
}

type head[T any] struct {
	row  T
	next func() (T, error, bool)
}

// advance reads the next row of a sequence, and reports whether to continue.
func (m *merger[T]) advance(next func() (T, error, bool)) bool {
	row, err, more := next()
	if err != nil {
		m.yield(row, err)
		return false
	}
	if more {
		m.heads = append(m.heads, head[T]{row, next})
	}
	return true
}

// before yields all rows that precede one of the long sequence, or all if row is nil. It reports
// whether to continue.
func (m *merger[T]) before(row *T) bool {
	for {
		first := -1
		for n, h := range m.heads {
			if (row == nil || m.compare(h.row, *row) < 0) && (first < 0 || m.compare(h.row, m.heads[first].row) < 0) {
				first = n
			}
		}
		if first < 0 {
			return true
		}
		h := m.heads[first]
		m.heads = append(m.heads[:first], m.heads[first+1:]...)
		if !m.yield(h.row, nil) || !m.advance(h.next) {
			return false
		}
	}
}
