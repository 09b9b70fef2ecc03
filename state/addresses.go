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
			return query(ctx, s.r, "list addresses", scanAddress, `SELECT key, size, asset, `+categoryColumn+`, `+urlColumn+`, images,
				done_at < ? AND NOT EXISTS (SELECT 1 FROM differences WHERE verification = ? AND key = receipts.key)
				FROM receipts WHERE pair = ? AND key > ? AND ? IN (0, run) ORDER BY key LIMIT ?`,
				v.At.UnixMilli(), v.ID, pair, after, run, pageSize)
		})(yield)
	}
}

func scanAddress(rows *sql.Rows) (a Address, err error) {
	return a, rows.Scan(&a.Key, &a.Size, &a.Asset, &a.Category, &a.URL, &a.images, &a.Verified)
}
