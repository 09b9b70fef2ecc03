package state

import (
	"context"
	"database/sql"
	"time"

	"assetferry/state/erasure"
)

// A Pair is a source and a destination that belong together.
type Pair struct {
	ID          int64
	Source      string
	Destination string
	URL         string            // the last URL of the destination, for information only
	Purpose     Purpose           // see SavePurpose; only read
	Scans       bool              // see SaveScans; only read
	Forgotten   erasure.Forgotten // keys of erased objects, which no run uploads; only read
	Wave        string            // the part of the source that a run covers; empty: all of it. A pair has runs of several waves
}

// Meets reports whether runs of two waves of a pair may have the same objects: waves have none in
// common, but a run without a wave has all.
func (p Pair) Meets(other Pair) bool { return p.Wave == other.Wave || p.Wave == "" || other.Wave == "" }

// Pair finds or creates the pair and stores the URL of its destination.
func (s *Store) Pair(ctx context.Context, source, destination, url string) (Pair, error) {
	p := Pair{Source: source, Destination: destination, URL: url}
	err := s.Write(ctx, "find pair", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO pairs (source, destination, url) VALUES (?, ?, ?)
			ON CONFLICT (source, destination) DO UPDATE SET url = excluded.url RETURNING id, scans, forgotten, `+purposeColumn,
			source, destination, url).Scan(&p.ID, &p.Scans, &p.Forgotten, &p.Purpose)
	})
	return p, err
}

// Pairs lists all pairs in the state database.
func (s *Store) Pairs(ctx context.Context) ([]Pair, error) {
	return query(ctx, s.r, "list pairs", func(rows *sql.Rows) (p Pair, err error) {
		return p, rows.Scan(&p.ID, &p.Source, &p.Destination, &p.URL, &p.Forgotten, &p.Purpose)
	}, `SELECT id, source, destination, url, forgotten, `+purposeColumn+` FROM pairs ORDER BY id`)
}

// A Purpose is the purpose of a destination: production or sandbox.
type Purpose string

// The purposes. A purpose is unknown until the first run that sets it.
const (
	PurposeUnknown Purpose = ""
	Sandbox        Purpose = "sandbox" // a sandbox
	Production     Purpose = "production"
)

// purposeColumn reads a purpose.
const purposeColumn = `CASE sandbox WHEN 1 THEN 'sandbox' WHEN 0 THEN 'production' ELSE '' END`

// SavePurpose stores the purpose of the destination of a pair.
func (s *Store) SavePurpose(ctx context.Context, pair int64, purpose Purpose) error {
	return s.Write(ctx, "save purpose", func(ctx context.Context, tx *sql.Tx) error {
		known := sql.NullBool{Bool: purpose == Sandbox, Valid: purpose != PurposeUnknown}
		return One(ctx, tx, `UPDATE pairs SET sandbox = ? WHERE id = ?`, known, pair)
	})
}

// SaveScans stores whether a scan has to accept what the runs of a pair upload.
func (s *Store) SaveScans(ctx context.Context, pair int64, scans bool) error {
	return s.Write(ctx, "save scans", func(ctx context.Context, tx *sql.Tx) error {
		return One(ctx, tx, `UPDATE pairs SET scans = ? WHERE id = ?`, scans, pair)
	})
}

// Known counts the objects of a pair in the state database.
type Known struct {
	Objects int64 // with assets at the destination
	Orphans int64 // see Orphan
	Failing int64 // see Failure
}

// Known counts the objects of a pair.
func (s *Store) Known(ctx context.Context, pair int64) (k Known, err error) {
	err = s.r.row(ctx, "count objects", `SELECT objects, (SELECT count(*) FROM orphans WHERE pair = ?1),
		(SELECT count(*) FROM failures WHERE pair = ?1) FROM pairs WHERE id = ?1`, pair).Scan(&k.Objects, &k.Orphans, &k.Failing)
	return k, err
}

// A Backlog counts the objects of a pair that need attention in later runs.
type Backlog struct {
	Orphans      ReceiptSum
	OrphansSince time.Time // of the first of them
	Failing      int64
	FailingSince time.Time // of the first of them; zero if unknown
}

// Backlog counts the objects of a pair that need attention.
func (s *Store) Backlog(ctx context.Context, pair int64) (st Backlog, err error) {
	var orphans, failing int64
	err = s.r.row(ctx, "count failing and deleted objects", `SELECT count(*), coalesce(sum(r.size), 0), coalesce(min(o.since), 0)
		FROM orphans o JOIN receipts r ON r.pair = o.pair AND r.key = o.key WHERE o.pair = ?`, pair).Scan(&st.Orphans.Objects, &st.Orphans.Bytes, &orphans)
	if err == nil {
		err = s.r.row(ctx, "count failing and deleted objects", `SELECT count(*), coalesce(min(since), 0) FROM failures WHERE pair = ?`, pair).Scan(&st.Failing, &failing)
	}
	if orphans != 0 {
		st.OrphansSince = fromMillis(orphans)
	}
	if failing != 0 {
		st.FailingSince = fromMillis(failing)
	}
	return st, err
}
