package state

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"assetferry/sources"
)

// An Orphan is an object that has arrived and that finished runs did not find at the
// source any more.
type Orphan struct {
	Key   sources.Key
	Since time.Time // of the listing that missed it first
	Runs  int       // that missed it, one after the other
}

// Orphans lists the orphans of a pair in key order, those with keys after the given one.
func (s *Store) Orphans(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Orphan, error] {
	return paged(s.r, after, func(o Orphan) sources.Key { return o.Key }, func(after sources.Key) ([]Orphan, error) {
		return query(ctx, s.r, "list orphans", scanOrphan, `SELECT key, since, runs FROM orphans WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

func scanOrphan(rows *sql.Rows) (o Orphan, err error) {
	var since int64
	err = rows.Scan(&o.Key, &since, &o.Runs)
	o.Since = fromMillis(since)
	return o, err
}

// noteOrphans brings the orphans of a pair up to date with what a run did not find: its
// items with an obstacle, as far as their assets are still there.
func noteOrphans(ctx context.Context, tx *sql.Tx, run Run, absent string) error {
	const missed = `SELECT i.key FROM items i JOIN receipts r ON r.pair = ?1 AND r.key = i.key WHERE i.run = ?2 AND i.obstacle = ?3`
	if _, err := tx.ExecContext(ctx, `DELETE FROM orphans WHERE pair = ?1 AND key NOT IN (`+missed+`)`, run.Pair.ID, run.Num, absent); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO orphans (pair, key, since, runs) SELECT ?1, key, ?4, 1 FROM (`+missed+`) WHERE true
		ON CONFLICT DO UPDATE SET runs = runs + 1`, run.Pair.ID, run.Num, absent, run.ListedAt.UnixMilli())
	return err
}
