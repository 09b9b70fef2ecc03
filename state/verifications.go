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
	Wave        string    // the part of the source that it covers; empty: all of it
	At          time.Time // only read
	Level       string    // listing, sample or checksum
	Receipts    int64     // compared with the listing
	Contents    int64     // downloaded and compared byte for byte, by checksum
	Differences int64
	Revisions   int64 // recorded revisions that were compared; not stored
	// Sampled are the assets whose content a sample found intact; only written.
	Sampled []string
	// Covered are the keys of the wave, ascending; only written, and only with a wave.
	Covered []KeyRange
}

// A KeyRange selects the receipts with keys from the first to the last, inclusive.
type KeyRange struct{ First, Last sources.Key }

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

// SaveVerification stores a verification and its differences. The differences that earlier ones found
// for the same assets are deleted.
func (s *Store) SaveVerification(ctx context.Context, v Verification, found []Difference) error {
	return s.Write(ctx, "save verification", func(ctx context.Context, tx *sql.Tx) error {
		v.At = s.now()
		details := actionlog.Details{"source": v.Source, "level": v.Level, "assets": v.Receipts, "contents": v.Contents, "differences": v.Differences}
		if v.Wave != "" {
			details["wave"] = v.Wave
		}
		res, err := s.logged(ctx, tx, actionlog.Entry{Kind: actionlog.Verified, Details: details}, `INSERT INTO verifications (pair, wave, at, level, receipts, contents, differences)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, v.Pair, v.Wave, v.At.UnixMilli(), v.Level, v.Receipts, v.Contents, v.Differences)
		if err != nil {
			return err
		}
		if v.ID, err = res.LastInsertId(); err != nil {
			return err
		}
		if err := forgetEarlier(ctx, tx, v); err != nil {
			return err
		}
		for _, d := range found {
			if _, err := tx.ExecContext(ctx, `INSERT INTO differences (verification, key, asset, field, what) VALUES (?, ?, ?, ?, ?)`,
				v.ID, d.Key, d.Asset, d.Field, d.What); err != nil {
				return err
			}
		}
		return saveContentChecks(ctx, tx, v, found)
	})
}

// ofPair selects the rows of a table that name a verification of the pair ?1.
const ofPair = ` WHERE verification IN (SELECT id FROM verifications WHERE pair = ?1)`

// forgetEarlier deletes what earlier verifications found for the assets of a new one, and stores the
// assets of a wave.
func forgetEarlier(ctx context.Context, tx *sql.Tx, v Verification) error {
	if v.Wave == "" {
		_, err := tx.ExecContext(ctx, `DELETE FROM differences`+ofPair, v.Pair) // a trigger deletes wave_checks
		return err
	}
	cover, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO wave_checks (pair, asset, verification)
		SELECT pair, asset, ? FROM receipts WHERE pair = ? AND key BETWEEN ? AND ?`)
	if err != nil {
		return err
	}
	defer cover.Close()
	for _, k := range v.Covered {
		if _, err := cover.ExecContext(ctx, v.ID, v.Pair, k.First, k.Last); err != nil {
			return err
		}
	}
	// An asset without a receipt was replaced, trashed or undone since its difference was found.
	_, err = tx.ExecContext(ctx, `DELETE FROM differences`+ofPair+` AND (asset IN (SELECT asset FROM wave_checks WHERE pair = ?1 AND verification = ?2)
		OR NOT EXISTS (SELECT 1 FROM receipts r WHERE r.pair = ?1 AND r.asset = differences.asset))`, v.Pair, v.ID)
	return err
}

// saveContentChecks stores the assets whose content is verified otherwise than by the last
// verification of all contents. Each row is an exception, so that a verification of a million
// assets writes no million rows, unless it is one of a wave.
func saveContentChecks(ctx context.Context, tx *sql.Tx, v Verification, found []Difference) error {
	stmt := ""
	switch {
	case v.Level == everyChecksum && v.Wave == "":
		stmt = `DELETE FROM content_checks WHERE pair = ?1`
	case v.Level == everyChecksum:
		stmt = `INSERT OR REPLACE INTO content_checks (pair, asset, at, intact) SELECT ?1, asset, ?3, 1 FROM wave_checks WHERE pair = ?1 AND verification = ?2`
	}
	if stmt != "" {
		if _, err := tx.ExecContext(ctx, stmt, v.Pair, v.ID, v.At.UnixMilli()); err != nil {
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

// LastVerification returns the newest verification of a pair, or of a part of it; ErrNotFound if
// there is none.
func (s *Store) LastVerification(ctx context.Context, pair int64) (Verification, error) {
	return s.LastVerificationOf(ctx, Pair{ID: pair})
}

// LastVerificationOf returns the newest verification of the wave of a pair, or of the whole pair;
// ErrNotFound if there is none. Without a wave, it is LastVerification.
func (s *Store) LastVerificationOf(ctx context.Context, pair Pair) (Verification, error) {
	all, err := query(ctx, s.r, "find verification", scanVerification, `SELECT `+verificationColumns+`
		FROM verifications WHERE pair = ?1 AND (?2 = '' OR wave IN ('', ?2)) ORDER BY id DESC LIMIT 1`, pair.ID, pair.Wave)
	return First(all, err, "verification")
}

const verificationColumns = `id, pair, wave, at, level, receipts, contents, differences`

func scanVerification(rows *sql.Rows) (v Verification, err error) {
	var at int64
	err = rows.Scan(&v.ID, &v.Pair, &v.Wave, &at, &v.Level, &v.Receipts, &v.Contents, &v.Differences)
	v.At = fromMillis(at)
	return v, err
}

// CurrentDifferences lists the differences that the last verification of each asset of a pair found,
// in key order.
func (s *Store) CurrentDifferences(ctx context.Context, pair int64) iter.Seq2[Difference, error] {
	return paged(s.r, "", func(d Difference) string { return d.Field + " " + string(d.Key) }, func(after string) ([]Difference, error) {
		field, key, _ := strings.Cut(after, " ") // a field is one word
		return query(ctx, s.r, "list differences", scanDifference, `SELECT key, asset, field, what FROM differences`+ofPair+` AND (key, field) > (?2, ?3)
			ORDER BY key, field LIMIT ?4`, pair, key, field, PageSize)
	})
}

func scanDifference(rows *sql.Rows) (d Difference, err error) {
	return d, rows.Scan((*string)(&d.Key), &d.Asset, &d.Field, &d.What)
}

// Verification belongs to an asset, not to a run: an asset is verified if the last verification of
// its pair, or a later one of a wave with the asset, came after its content and found no difference.
// New content makes it unverified; moves and metadata updates do not. A verified content lasts
// longer: later verifications by listing confirm it, see content_checks.

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
const lastContents = `coalesce((SELECT v.at FROM verifications v WHERE v.pair = ?1 AND v.level = '` + everyChecksum + `' AND v.wave = '' ORDER BY v.id DESC LIMIT 1), 0)`

// lastWhole is the time of the last verification of the whole pair ?1; 0 for never. inWave is that of
// the last one of a wave with a receipt r since then.
const (
	lastWhole = `coalesce((SELECT v.at FROM verifications v WHERE v.pair = ?1 AND v.wave = '' ORDER BY v.id DESC LIMIT 1), 0)`
	inWave    = `coalesce((SELECT v.at FROM wave_checks w JOIN verifications v ON v.id = w.verification WHERE w.pair = r.pair AND w.asset = r.asset), 0)`
)

// A verifiedBy says what verified the assets of a pair.
type verifiedBy struct {
	whole, contents  int64 // see lastWhole and lastContents
	waves, different bool  // some are verified in waves, or have differences
}

func (s *Store) verifiedBy(ctx context.Context, pair int64) (by verifiedBy, err error) {
	err = s.r.row(ctx, "find verification", `SELECT `+lastWhole+`, `+lastContents+`, EXISTS (SELECT 1 FROM wave_checks WHERE pair = ?1), EXISTS (SELECT 1 FROM differences`+ofPair+`)`, pair).
		Scan(&by.whole, &by.contents, &by.waves, &by.different)
	return by, err
}

// isVerified selects whether a receipt r is verified, with the parameters ?1 to ?3: a verifiedBy.
const isVerified = `(` + arrivedAt + ` < ?1 OR ?2 AND ` + arrivedAt + ` < ` + inWave + `) AND NOT (?3 AND ` + hasDifference + `)`

// hasDifference selects receipts r with a current difference.
const hasDifference = `EXISTS (SELECT 1 FROM differences d JOIN verifications v ON v.id = d.verification WHERE d.asset = r.asset AND v.pair = r.pair)`

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

// sumVerified counts how the assets of the pair ?1 are verified. The order of its joins is fixed: the
// few differences come first, and not all receipts.
const sumVerified = `WITH times AS (SELECT ` + lastWhole + ` AS listed, ` + lastContents + ` AS contents),
	differing AS (SELECT DISTINCT r.asset FROM verifications last CROSS JOIN differences d ON d.verification = last.id
		CROSS JOIN receipts r ON r.pair = ?1 AND r.asset = d.asset WHERE last.pair = ?1 AND ` + arrivedAt + ` < last.at),
	checked AS (SELECT c.intact, c.at, ` + arrivedAt + ` AS arrived FROM content_checks c CROSS JOIN receipts r ON r.pair = ?1 AND r.asset = c.asset
		WHERE c.pair = ?1 AND c.asset NOT IN (SELECT asset FROM differing)),
	sums AS (SELECT count(*) AS assets, max(r.done_at) AS arrival, coalesce(sum(CASE WHEN ` + arrivedAt + ` < t.listed THEN 1 ELSE ` + arrivedAt + ` < ` + inWave + ` END), 0) AS listed,
		coalesce(sum(` + arrivedAt + ` < t.contents), 0) AS contents
		FROM times t CROSS JOIN receipts r WHERE r.pair = ?1)
	SELECT s.assets, s.arrival, s.listed, s.contents,
		(SELECT count(*) FROM differing),
		(SELECT count(*) FROM differing x CROSS JOIN receipts r ON r.pair = ?1 AND r.asset = x.asset WHERE ` + arrivedAt + ` < t.contents)
			+ (SELECT count(*) FROM checked WHERE intact = 0 AND arrived < t.contents),
		(SELECT count(*) FROM checked WHERE intact = 1 AND arrived < at AND arrived >= t.contents)
	FROM sums s, times t`

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
	err = s.r.row(ctx, "count verified assets", sumVerified, pair).Scan(&sum.Assets, &arrival, &sum.Listed, &sum.Contents, &sum.Differ, &voided, &sampled)
	sum.Listed -= sum.Differ
	sum.Contents += sampled - voided
	if arrival.Valid {
		sum.LastArrival = fromMillis(arrival.Int64)
	}
	return sum, err
}

// A Standing is an uploaded object, and how its asset is verified.
type Standing struct {
	sources.Object
	Verified bool      // by listing at least
	Content  bool      // its checksum was verified, too
	Differs  bool      // from what was verified last
	DoneAt   time.Time // of the receipt
}

// Standings lists the uploaded objects of a pair, in key order.
func (s *Store) Standings(ctx context.Context, pair int64) iter.Seq2[Standing, error] {
	scan := func(rows *sql.Rows) (is Standing, err error) {
		var changed, done int64
		err = rows.Scan(&is.Key, &is.Size, &changed, &done, &is.Verified, &is.Content, &is.Differs)
		is.Time, is.DoneAt = fromNanos(changed), fromMillis(done)
		is.Content = is.Content && is.Verified
		return is, err
	}
	return func(yield func(Standing, error) bool) {
		by, err := s.verifiedBy(ctx, pair)
		if err != nil {
			yield(Standing{}, err)
			return
		}
		paged(s.r, "", func(is Standing) sources.Key { return is.Key }, func(after sources.Key) ([]Standing, error) {
			return query(ctx, s.r, "list verified objects", scan, `SELECT r.key, r.size, r.time, r.done_at, `+isVerified+`,
				`+arrivedAt+` < CASE c.intact WHEN 1 THEN max(c.at, ?7) WHEN 0 THEN 0 ELSE ?7 END, ?3 AND `+hasDifference+`
				FROM receipts r LEFT JOIN content_checks c ON c.pair = r.pair AND c.asset = r.asset
				WHERE r.pair = ?4 AND r.key > ?5 ORDER BY r.key LIMIT ?6`, by.whole, by.waves, by.different, pair, after, PageSize, by.contents)
		})(yield)
	}
}

// SumVerifiedOf is SumVerified for some objects of a pair.
func (s *Store) SumVerifiedOf(ctx context.Context, pair int64, has func(sources.Object) bool) (sum VerifiedSum, err error) {
	for is, err := range s.Standings(ctx, pair) {
		if err != nil {
			return sum, err
		}
		if !has(is.Object) {
			continue
		}
		sum.Assets++
		sum.Listed += counted(is.Verified)
		sum.Contents += counted(is.Content)
		sum.Differ += counted(is.Differs)
		if is.DoneAt.After(sum.LastArrival) {
			sum.LastArrival = is.DoneAt
		}
	}
	return sum, nil
}

// counted returns 1 for true.
func counted(is bool) int64 {
	if is {
		return 1
	}
	return 0
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
	all, err := query(ctx, s.r, op, scanVerification, `SELECT `+verificationColumns+` FROM verifications WHERE id = coalesce(
		(SELECT w.verification FROM receipts r JOIN wave_checks w ON w.pair = r.pair AND w.asset = r.asset WHERE r.pair = ?1 AND r.key = ?2),
		(SELECT max(id) FROM verifications WHERE pair = ?1 AND wave = ''))`, pair, key)
	v, err := First(all, err, "verification")
	if errors.Is(err, ErrNotFound) {
		return a, nil
	}
	if v.At.UnixMilli() > since {
		a.Listed = v
	}
	return a, err
}
