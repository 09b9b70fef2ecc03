package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"assetferry/sources"
)

// Whether an asset is verified belongs to the asset, and not to a run: it is, if the last
// verification of its pair came after its content and found no difference. New content
// makes it unverified; to move or to describe it does not. Whether its content was read
// back lasts longer: later verifications that only list confirm it, see content_checks.

// arrivedAt is when the content of a receipt r came to be at the destination.
const arrivedAt = `coalesce(r.content_at, r.done_at)`

// arrivalTime is the time of content that arrives now: after the last verification of the
// pair, also where the clock was set back since. Otherwise it would pass for verified.
func arrivalTime(ctx context.Context, tx *sql.Tx, pair int64, now time.Time) (time.Time, error) {
	var at int64
	err := tx.QueryRowContext(ctx, `SELECT max(?1, coalesce(max(at) + 1, 0)) FROM verifications WHERE pair = ?2`, now.UnixMilli(), pair).Scan(&at)
	return fromMillis(at), err
}

// lastContents is when all contents of the pair ?1 were read back last; 0 for never.
const lastContents = `coalesce((SELECT v.at FROM verifications v WHERE v.pair = ?1 AND v.level = '` + everyContent + `' ORDER BY v.id DESC LIMIT 1), 0)`

// A VerifiedSum counts how the assets of a pair are verified.
type VerifiedSum struct {
	Assets      int64
	Listed      int64     // verified by listing at least
	Contents    int64     // of these, verified by content, too
	Differ      int64     // the last verification found differences of these
	LastArrival time.Time // of a receipt; zero if there is none
}

// Unverified counts the assets whose content came after the last verification.
func (v VerifiedSum) Unverified() int64 { return v.Assets - v.Listed - v.Differ }

// SumVerified counts how the assets of a pair are verified, in one walk over its receipts.
func (s *Store) SumVerified(ctx context.Context, pair int64) (sum VerifiedSum, err error) {
	var arrival sql.NullInt64
	if _, err := s.LastVerification(ctx, pair); errors.Is(err, ErrNotFound) {
		err = s.r.row(ctx, "sum up what is verified", `SELECT count(*), max(done_at) FROM receipts WHERE pair = ?`, pair).Scan(&sum.Assets, &arrival)
		if arrival.Valid {
			sum.LastArrival = fromMillis(arrival.Int64)
		}
		return sum, err
	} else if err != nil {
		return sum, err
	}
	var voided, sampled int64
	err = s.r.row(ctx, "sum up what is verified", `WITH last AS (SELECT id, at FROM verifications WHERE pair = ?1 ORDER BY id DESC LIMIT 1),
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

// An Arrival is how the content of an asset came to be there, and how it was verified since.
type Arrival struct {
	Run    string       // that uploaded or adopted the content
	At     time.Time    // when it did
	Listed Verification // the last one since the content is there; zero if there was none
	// Content is when the content was read back without a difference, since it is there; zero if it was not.
	Content time.Time
}

// ArrivalOf finds how the content of the asset of an object came to be there; ErrNotFound
// if it has none.
func (s *Store) ArrivalOf(ctx context.Context, pair int64, key sources.Key) (a Arrival, err error) {
	const op = "find when an asset was verified"
	var done, since, contents int64
	var checked, intact sql.NullInt64
	err = s.r.row(ctx, op, `SELECT u.id, r.done_at, `+arrivedAt+`, `+lastContents+`, c.at, c.intact
		FROM receipts r JOIN runs u ON u.num = coalesce(r.content_run, r.run) LEFT JOIN content_checks c ON c.pair = r.pair AND c.asset = r.asset
		WHERE r.pair = ?1 AND r.key = ?2`, pair, key).Scan(&a.Run, &done, &since, &contents, &checked, &intact)
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("receipt of %s: %w", key, ErrNotFound)
	} else if err != nil {
		return a, err
	}
	a.At = fromMillis(min(done, since)) // what was moved since is older than its receipt
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
