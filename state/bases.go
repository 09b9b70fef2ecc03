package state

import (
	"context"
	"database/sql"
	"errors"
	"path"
	"strings"
	"sync"
	"unicode/utf8"

	"assetferry/sources"
)

// A base holds the values that many assets of a destination share: category, URL parts and content
// type. An item or a receipt names a base if the base and its key determine its category, name, URL
// and storage metadata. This saves half of the space of a usual object. All other rows hold these
// values in full.
type base struct{ category, before, after, contentType string }

// categoryColumn reads the category of a row with or without a base, for use in SQL or for few
// rows. Long listings use queryBased.
const categoryColumn = `CASE WHEN base IS NULL THEN category ELSE (SELECT b.category FROM bases b WHERE b.id = base) END`

// maxBases is the maximum number of bases. Services with unrelated URLs have no common values.
const maxBases = 1000

func (b base) url(asset string) string { return b.before + asset + b.after }

// values returns what a row with the base takes from it and from its key.
func (b base) values(key sources.Key, asset string) (name, extension, category, url string) {
	name, extension = splitName(baseName(string(key)))
	return name, extension, b.category, b.url(asset)
}

// queryBased is query for rows that may name a base: scan returns its number, too, and complete
// fills in its values. A join in SQL would double the time.
func queryBased[T any](ctx context.Context, s *Store, op string, scan func(*sql.Rows) (T, sql.NullInt64, error), complete func(*T, base),
	stmt string, args ...any) ([]T, error) {
	var numbers []sql.NullInt64
	all, err := query(ctx, s.r, op, func(rows *sql.Rows) (T, error) {
		row, number, err := scan(rows)
		numbers = append(numbers, number)
		return row, err
	}, stmt, args...)
	if err != nil {
		return nil, err
	}
	known, err := s.based.withAll(ctx, s.r, numbers)
	if err != nil {
		return nil, wrap(op, err)
	}
	for n, number := range numbers {
		if number.Valid {
			complete(&all[n], known[number.Int64])
		}
	}
	return all, nil
}

// A baseIndex has the bases by number. They never change; there are at most maxBases.
type baseIndex struct {
	mu    sync.Mutex
	known map[int64]base // replaced as a whole
}

// withAll returns bases by number, at least those that the rows name. It reads them all again if
// there is a new one.
func (x *baseIndex) withAll(ctx context.Context, r reader, numbers []sql.NullInt64) (map[int64]base, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, number := range numbers {
		if _, ok := x.known[number.Int64]; number.Valid && !ok {
			err := x.read(ctx, r)
			return x.known, err
		}
	}
	return x.known, nil
}

func (x *baseIndex) read(ctx context.Context, r reader) error {
	known := map[int64]base{}
	_, err := query(ctx, r, "read bases", func(rows *sql.Rows) (none struct{}, err error) {
		var number int64
		var b base
		err = rows.Scan(&number, &b.category, &b.before, &b.after, &b.contentType)
		known[number] = b
		return none, err
	}, `SELECT id, category, url_before, url_after, content_type FROM bases`)
	if err == nil {
		x.known = known
	}
	return err
}

// bases finds and creates bases within a transaction.
type bases struct {
	tx    *sql.Tx
	known map[base]sql.NullInt64
}

// number returns the number of a base; none if there are too many.
func (b *bases) number(ctx context.Context, of base) (number sql.NullInt64, err error) {
	if number, known := b.known[of]; known {
		return number, nil
	}
	err = b.tx.QueryRowContext(ctx, `SELECT id FROM bases WHERE category = ? AND url_before = ? AND url_after = ? AND content_type = ?`,
		of.category, of.before, of.after, of.contentType).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = b.tx.QueryRowContext(ctx, `INSERT INTO bases (category, url_before, url_after, content_type) SELECT ?, ?, ?, ?
			WHERE (SELECT count(*) FROM bases) < ? RETURNING id`, of.category, of.before, of.after, of.contentType, maxBases).Scan(&number)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return number, err
	}
	if b.known == nil {
		b.known = map[base]sql.NullInt64{}
	}
	b.known[of] = number
	return number, nil
}

// ofItem returns the base of an item's place, if there is one.
func (b *bases) ofItem(ctx context.Context, i Item) (number sql.NullInt64, err error) {
	if i.Category == "" || i.Name == "" || i.Name != baseName(string(i.Key)) {
		return number, nil
	}
	return b.number(ctx, base{category: i.Category})
}

// ofReceipt returns the base of a receipt, if there is one.
func (b *bases) ofReceipt(ctx context.Context, r Receipt) (number sql.NullInt64, err error) {
	before, after, found := strings.Cut(r.URL, r.Asset)
	filename := baseName(string(r.Key))
	name, extension := splitName(filename)
	if !found || filename == "" || r.Filename() != filename || r.Name != name || r.Extension != extension {
		return number, nil
	}
	of := base{category: r.Category, before: before, after: after}
	if r.Description.isOnlyType() {
		of.contentType = r.Description.ContentType
	}
	return b.number(ctx, of)
}

// baseName returns the last segment of a key, or "" if SQL might derive another name.
func baseName(key string) string {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return ""
	}
	return key[strings.LastIndexByte(key, '/')+1:]
}

// splitName reverses filename. Some names have no extension.
func splitName(name string) (base, extension string) {
	extension = path.Ext(name)
	return strings.TrimSuffix(name, extension), strings.TrimPrefix(extension, ".")
}
