package state

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"

	"assetferry/sources"
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
	// Sampled are the assets that a sample read back without a difference; only written.
	Sampled []string
}

// everyContent is the level of verifications that read back all contents.
const everyContent = "content"

// A Difference is one thing that is not at the destination as its receipt says.
type Difference struct {
	Key   sources.Key
	Asset string
	Field string // what differs, such as size or content
	What  string // for people
}

// voidsContent reports whether what was read back before counts no more.
func (d Difference) voidsContent() bool {
	return d.Field == "presence" || d.Field == "size" || d.Field == "content"
}

// SaveVerification records a verification and what it found. The differences that
// earlier ones of the pair found are forgotten.
func (s *Store) SaveVerification(ctx context.Context, v Verification, found []Difference) error {
	return s.Write(ctx, "save verification", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM differences WHERE verification IN
			(SELECT id FROM verifications WHERE pair = ?)`, v.Pair); err != nil {
			return err
		}
		v.At = s.now()
		res, err := tx.ExecContext(ctx, `INSERT INTO verifications (pair, at, level, receipts, contents, differences)
			VALUES (?, ?, ?, ?, ?, ?)`, v.Pair, v.At.UnixMilli(), v.Level, v.Receipts, v.Contents, v.Differences)
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
		return saveContentChecks(ctx, tx, v, found)
	})
}

// saveContentChecks notes of which assets the content is verified otherwise than the last
// verification of all contents says. Each row is an exception, so that a verification of a
// million assets writes no million rows.
func saveContentChecks(ctx context.Context, tx *sql.Tx, v Verification, found []Difference) error {
	if v.Level == everyContent {
		if _, err := tx.ExecContext(ctx, `DELETE FROM content_checks WHERE pair = ?`, v.Pair); err != nil {
			return err
		}
	}
	check, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO content_checks (pair, asset, at, intact) VALUES (?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer check.Close()
	for _, asset := range v.Sampled {
		if _, err := check.ExecContext(ctx, v.Pair, asset, v.At.UnixMilli(), 1); err != nil {
			return fmt.Errorf("note content: %w", err)
		}
	}
	for _, d := range found {
		if !d.voidsContent() {
			continue
		}
		if _, err := check.ExecContext(ctx, v.Pair, d.Asset, v.At.UnixMilli(), 0); err != nil {
			return fmt.Errorf("note content: %w", err)
		}
	}
	return nil
}

// LastVerification finds the newest verification of a pair; ErrNotFound if
// there is none.
func (s *Store) LastVerification(ctx context.Context, pair int64) (Verification, error) {
	all, err := query(ctx, s.r, "find verification", scanVerification, `SELECT `+verificationColumns+`
		FROM verifications WHERE pair = ? ORDER BY id DESC LIMIT 1`, pair)
	return First(all, err, "verification")
}

const verificationColumns = `id, pair, at, level, receipts, contents, differences`

func scanVerification(rows *sql.Rows) (v Verification, err error) {
	var at int64
	err = rows.Scan(&v.ID, &v.Pair, &at, &v.Level, &v.Receipts, &v.Contents, &v.Differences)
	v.At = fromMillis(at)
	return v, err
}

// Differences lists what a verification found, in key order. Only those of the last
// one of a pair are kept.
func (s *Store) Differences(ctx context.Context, verification int64) iter.Seq2[Difference, error] {
	return paged(s.r, "", func(d Difference) string { return d.Field + " " + string(d.Key) }, func(after string) ([]Difference, error) {
		field, key, _ := strings.Cut(after, " ") // a field is one word
		return query(ctx, s.r, "list differences", scanDifference, `SELECT key, asset, field, what FROM differences WHERE verification = ? AND (key, field) > (?, ?)
			ORDER BY key, field LIMIT ?`, verification, key, field, PageSize)
	})
}

func scanDifference(rows *sql.Rows) (d Difference, err error) {
	return d, rows.Scan(&d.Key, &d.Asset, &d.Field, &d.What)
}
