package state

import (
	"context"
	"database/sql"
	"iter"
	"strings"
	"time"
)

// A Verification is what one call of verify found.
type Verification struct {
	ID          int64 // only read
	Pair        int64
	At          time.Time // only read
	Level       string    // listing, sample or content
	Receipts    int64     // compared with the listing
	Contents    int64     // read back and compared byte for byte, by digest
	Differences int64
}

// A Difference is one thing that is not at the destination as its receipt says.
type Difference struct {
	Key   string
	Asset string
	Field string // what differs, such as size or content
	What  string // for people
}

// SaveVerification records a verification and what it found. The differences that
// earlier ones of the pair found are forgotten.
func (s *Store) SaveVerification(ctx context.Context, v Verification, found []Difference) error {
	return s.write(ctx, "save verification", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM differences WHERE verification IN
			(SELECT id FROM verifications WHERE pair = ?)`, v.Pair); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO verifications (pair, at, level, receipts, contents, differences)
			VALUES (?, ?, ?, ?, ?, ?)`, v.Pair, s.now().UnixMilli(), v.Level, v.Receipts, v.Contents, v.Differences)
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		for _, d := range found {
			if _, err := tx.ExecContext(ctx, `INSERT INTO differences (verification, key, asset, field, what) VALUES (?, ?, ?, ?, ?)`,
				id, d.Key, d.Asset, d.Field, d.What); err != nil {
				return err
			}
		}
		return nil
	})
}

// LastVerification finds the newest verification of a pair; ErrNotFound if
// there is none.
func (s *Store) LastVerification(ctx context.Context, pair int64) (Verification, error) {
	all, err := query(ctx, s.r, "find verification", func(rows *sql.Rows) (v Verification, err error) {
		var at int64
		err = rows.Scan(&v.ID, &v.Pair, &at, &v.Level, &v.Receipts, &v.Contents, &v.Differences)
		v.At = fromMillis(at)
		return v, err
	}, `SELECT id, pair, at, level, receipts, contents, differences FROM verifications WHERE pair = ? ORDER BY id DESC LIMIT 1`, pair)
	return first(all, err, "verification")
}

// Differences lists what a verification found, in key order. Only those of the last
// one of a pair are kept.
func (s *Store) Differences(ctx context.Context, verification int64) iter.Seq2[Difference, error] {
	return paged("", func(d Difference) string { return d.Field + " " + d.Key }, func(after string) ([]Difference, error) {
		field, key, _ := strings.Cut(after, " ") // a field is one word
		return query(ctx, s.r, "list differences", scanDifference, `SELECT key, asset, field, what FROM differences WHERE verification = ? AND (key, field) > (?, ?)
			ORDER BY key, field LIMIT ?`, verification, key, field, pageSize)
	})
}

func scanDifference(rows *sql.Rows) (d Difference, err error) {
	return d, rows.Scan(&d.Key, &d.Asset, &d.Field, &d.What)
}
