package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"assetferry/sources"
	"assetferry/state/actionlog"
)

// A Verification is the result of one call of verify.
type Verification struct {
	ID          int64 // only read
	Pair        int64
	Source      string    // of the pair, for the action log; only written
	At          time.Time // only read
	Level       string    // listing, sample or checksum
	Receipts    int64     // compared with the listing
	Contents    int64     // downloaded and compared byte for byte, by checksum
	Differences int64
	// Sampled are the assets whose content a sample found intact; only written.
	Sampled []string
}

// everyChecksum is the level of verifications of all contents.
const everyChecksum = "checksum"

// A Difference is one difference between the destination and a receipt.
type Difference struct {
	Key   sources.Key
	Asset string
	Field string // the differing field, such as size or content
	What  string // for people
}

// voidsContent reports whether earlier verifications of the content do not count any more.
func (d Difference) voidsContent() bool {
	return d.Field == "presence" || d.Field == "size" || d.Field == "content"
}

// SaveVerification stores a verification and its differences. The differences of earlier ones of
// the pair are deleted.
func (s *Store) SaveVerification(ctx context.Context, v Verification, found []Difference) error {
	return s.Write(ctx, "save verification", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM differences WHERE verification IN
			(SELECT id FROM verifications WHERE pair = ?)`, v.Pair); err != nil {
			return err
		}
		v.At = s.now()
		res, err := s.logged(ctx, tx, actionlog.Entry{Kind: actionlog.Verified, Details: actionlog.Details{
			"source": v.Source, "level": v.Level, "assets": v.Receipts, "contents": v.Contents, "differences": v.Differences,
		}}, `INSERT INTO verifications (pair, at, level, receipts, contents, differences)
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

// saveContentChecks stores the assets whose content is verified otherwise than by the last
// verification of all contents. Each row is an exception, so that a verification of a million
// assets writes no million rows.
func saveContentChecks(ctx context.Context, tx *sql.Tx, v Verification, found []Difference) error {
	if v.Level == everyChecksum {
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
			return fmt.Errorf("save content checks: %w", err)
		}
	}
	for _, d := range found {
		if !d.voidsContent() {
			continue
		}
		if _, err := check.ExecContext(ctx, v.Pair, d.Asset, v.At.UnixMilli(), 0); err != nil {
			return fmt.Errorf("save content checks: %w", err)
		}
	}
	return nil
}

// LastVerification returns the newest verification of a pair; ErrNotFound if there is none.
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

// Differences lists the differences of a verification, in key order. Only those of the last one of
// a pair are stored.
func (s *Store) Differences(ctx context.Context, verification int64) iter.Seq2[Difference, error] {
	return paged(s.r, "", func(d Difference) string { return d.Field + " " + string(d.Key) }, func(after string) ([]Difference, error) {
		field, key, _ := strings.Cut(after, " ") // a field is one word
		return query(ctx, s.r, "list differences", scanDifference, `SELECT key, asset, field, what FROM differences WHERE verification = ? AND (key, field) > (?, ?)
			ORDER BY key, field LIMIT ?`, verification, key, field, PageSize)
	})
}

func scanDifference(rows *sql.Rows) (d Difference, err error) {
	return d, rows.Scan((*string)(&d.Key), &d.Asset, &d.Field, &d.What)
}

// Verification belongs to an asset, not to a run: an asset is verified if the last verification of
// its pair came after its content and found no difference. New content makes it unverified; moves
// and metadata updates do not. A verified content lasts longer: later verifications by listing
// confirm it, see content_checks.

// arrivedAt is the upload time of the content of a receipt r.
const arrivedAt = `coalesce(r.content_at, r.done_at)`

// arrivalTime returns the time for content that is uploaded now. It is after the last verification
// of the pair even if the clock was set back. Otherwise the content would count as verified.
func arrivalTime(ctx context.Context, tx *sql.Tx, pair int64, now time.Time) (time.Time, error) {
	var at int64
	err := tx.QueryRowContext(ctx, `SELECT max(?1, coalesce(max(at) + 1, 0)) FROM verifications WHERE pair = ?2`, now.UnixMilli(), pair).Scan(&at)
	return fromMillis(at), err
}

// lastContents is the time of the last verification of all contents of the pair ?1; 0 for never.
const lastContents = `coalesce((SELECT v.at FROM verifications v WHERE v.pair = ?1 AND v.level = '` + everyChecksum + `' ORDER BY v.id DESC LIMIT 1), 0)`

// A VerifiedSum counts how the assets of a pair are verified.
type VerifiedSum struct {
	Assets      int64
	Listed      int64     // verified by listing at least
	Contents    int64     // assets whose checksum was verified, too
	Differ      int64     // assets with differences in the last verification
	LastArrival time.Time // of a receipt; zero if there is none
}

// Unverified counts the assets whose content came after the last verification.
func (v VerifiedSum) Unverified() int64 { return v.Assets - v.Listed - v.Differ }

// SumVerified counts how the assets of a pair are verified, in one pass over its receipts.
func (s *Store) SumVerified(ctx context.Context, pair int64) (sum VerifiedSum, err error) {
	var arrival sql.NullInt64
	if _, err := s.LastVerification(ctx, pair); errors.Is(err, ErrNotFound) {
		err = s.r.row(ctx, "count verified assets", `SELECT count(*), max(done_at) FROM receipts WHERE pair = ?`, pair).Scan(&sum.Assets, &arrival)
		if arrival.Valid {
			sum.LastArrival = fromMillis(arrival.Int64)
		}
		return sum, err
	} else if err != nil {
		return sum, err
	}
	var voided, sampled int64
	err = s.r.row(ctx, "count verified assets", `WITH last AS (SELECT id, at FROM verifications WHERE pair = ?1 ORDER BY id DESC LIMIT 1),
		times AS (SELECT coalesce((SELECT at FROM last), 0) AS listed, `+lastContents+` AS contents),
		differing AS (SELECT DISTINCT r.asset FROM last JOIN differences d ON d.verification = last.id
			JOIN receipts r ON r.pair = ?1 AND r.asset = d.asset WHERE `+arrivedAt+` < last.at),
		checked AS (SELECT c.intact, c.at, `+arrivedAt+` AS arrived FROM content_checks c JOIN receipts r ON r.pair = ?1 AND r.asset = c.asset
			WHERE c.pair = ?1 AND c.asset NOT IN (SELECT asset FROM differing)),
		sums AS (SELECT count(*) AS assets, max(r.done_at) AS arrival, coalesce(sum(`+arrivedAt+` < t.listed), 0) AS listed,
			coalesce(sum(`+arrivedAt+` < t.contents), 0) AS contents
			FROM times t CROSS JOIN receipts r WHERE r.pair = ?1)
		SELECT s.assets, s.arrival, s.listed, s.contents,
			(SELECT count(*) FROM differing),
			(SELECT count(*) FROM differing x JOIN receipts r ON r.pair = ?1 AND r.asset = x.asset WHERE `+arrivedAt+` < t.contents)
				+ (SELECT count(*) FROM checked WHERE intact = 0 AND arrived < t.contents),
			(SELECT count(*) FROM checked WHERE intact = 1 AND arrived < at AND arrived >= t.contents)
		FROM sums s, times t`, pair).Scan(&sum.Assets, &arrival, &sum.Listed, &sum.Contents, &sum.Differ, &voided, &sampled)
	sum.Listed -= sum.Differ
	sum.Contents += sampled - voided
	if arrival.Valid {
		sum.LastArrival = fromMillis(arrival.Int64)
	}
	return sum, err
}

// A Standing is an uploaded object, and whether its asset is as the last verification expected it.
type Standing struct {
	sources.Object
	Verified bool
}

// Standings lists the uploaded objects of a pair, in key order.
func (s *Store) Standings(ctx context.Context, pair int64) iter.Seq2[Standing, error] {
	scan := func(rows *sql.Rows) (is Standing, err error) {
		var changed int64
		err = rows.Scan(&is.Key, &is.Size, &changed, &is.Verified)
		is.Time = fromNanos(changed)
		return is, err
	}
	return func(yield func(Standing, error) bool) {
		v, err := s.LastVerification(ctx, pair)
		if err != nil && !errors.Is(err, ErrNotFound) {
			yield(Standing{}, err)
			return
		}
		paged(s.r, "", func(is Standing) sources.Key { return is.Key }, func(after sources.Key) ([]Standing, error) {
			return query(ctx, s.r, "list verified objects", scan, `SELECT key, size, time, `+isVerified+` FROM receipts r
				WHERE pair = ?4 AND key > ?5 ORDER BY key LIMIT ?6`, v.At.UnixMilli(), v.Differences, v.ID, pair, after, PageSize)
		})(yield)
	}
}

// An Arrival is the upload of the content of an asset, and its verification since.
type Arrival struct {
	Run    string       // that uploaded or adopted the content
	At     time.Time    // when it did
	Listed Verification // the last one since the upload; zero if there was none
	// Content is the time of the last verification of the content since its upload; zero if there
	// was none.
	Content time.Time
}

// ArrivalOf returns the upload and verification of the content of an object's asset; ErrNotFound if
// it has none.
func (s *Store) ArrivalOf(ctx context.Context, pair int64, key sources.Key) (a Arrival, err error) {
	const op = "find verification of asset"
	var done, since, contents int64
	var checked, intact sql.NullInt64
	err = s.r.row(ctx, op, `SELECT u.id, r.done_at, `+arrivedAt+`, `+lastContents+`, c.at, c.intact
		FROM receipts r JOIN runs u ON u.num = coalesce(r.content_run, r.run) LEFT JOIN content_checks c ON c.pair = r.pair AND c.asset = r.asset
		WHERE r.pair = ?1 AND r.key = ?2`, pair, key).Scan(&a.Run, &done, &since, &contents, &checked, &intact)
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("upload record of %s: %w", key, ErrNotFound)
	} else if err != nil {
		return a, err
	}
	a.At = fromMillis(min(done, since)) // the receipt of a moved asset may be newer than its content
	if checked.Valid {
		contents = checked.Int64 * intact.Int64
	}
	if contents > since {
		a.Content = fromMillis(contents)
	}
	v, err := s.LastVerification(ctx, pair)
	if errors.Is(err, ErrNotFound) {
		return a, nil
	}
	if v.At.UnixMilli() > since {
		a.Listed = v
	}
	return a, err
}
