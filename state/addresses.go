package state

import (
	"context"
	"database/sql"
	"errors"
	"iter"
)

// An Address is where the object of a receipt is found at the destination.
type Address struct {
	Key      string
	Size     int64
	Asset    string
	Category string
	URL      string
	// Verified says that the last verification of the pair was after the receipt, and
	// found nothing that differs.
	Verified bool
	images   sql.NullString // packed
}

// Images gives the addresses of an image in other sizes, by width, and "default"; none
// for what is no image.
func (a Address) Images() (map[string]string, error) { return unpackImages(a.URL, a.images) }

// Addresses lists where the objects of a pair are, in key order: those that a run made
// or adopted, or all if run is 0.
func (s *Store) Addresses(ctx context.Context, pair, run int64) iter.Seq2[Address, error] {
	return func(yield func(Address, error) bool) {
		v, err := s.LastVerification(ctx, pair)
		if err != nil && !errors.Is(err, ErrNotFound) {
			yield(Address{}, err)
			return
		}
		paged("", func(a Address) string { return a.Key }, func(after string) ([]Address, error) {
			return queryBased(ctx, s, "list addresses", scanAddress, (*Address).complete, `SELECT key, size, asset, base, category, url, images,
				done_at < ?1 AND CASE WHEN ?2 = 0 THEN 1 ELSE NOT EXISTS (SELECT 1 FROM differences WHERE verification = ?3 AND key = receipts.key) END
				FROM receipts WHERE pair = ?4 AND key > ?5 AND ?6 IN (0, run) ORDER BY key LIMIT ?7`,
				v.At.UnixMilli(), v.Differences, v.ID, pair, after, run, pageSize)
		})(yield)
	}
}

func scanAddress(rows *sql.Rows) (a Address, base sql.NullInt64, err error) {
	err = rows.Scan(&a.Key, &a.Size, &a.Asset, &base, &a.Category, &a.URL, &a.images, &a.Verified)
	return a, base, err
}

func (a *Address) complete(b base) { a.Category, a.URL = b.category, b.url(a.Asset) }
