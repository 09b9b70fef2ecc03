package state

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"assetferry/sources"
	"assetferry/state/actionlog"
)

// A Candidate may be one end of a move: a new object, or a deleted one with a receipt.
type Candidate struct {
	Item
	Deleted  bool
	Checksum []byte // of the receipt, if it was deleted
}

// MoveCandidates lists the new objects of a run, including those with exhausted retries, and the
// missing ones, whose obstacle is absent, without those whose assets it trashed. It lists only
// sizes that occur in both, ordered by size and key, as a snapshot.
func (s *Store) MoveCandidates(ctx context.Context, run, pair int64, absent string) iter.Seq2[Candidate, error] {
	scan := func(rows *sql.Rows) (c Candidate, err error) {
		var asset string
		if c.Item, err = scanItemAnd(rows, &c.Deleted, &c.Checksum, &asset); c.Deleted {
			c.Asset = asset
		}
		return c, err
	}
	return spooled(ctx, s.r, "find move candidates", scan, `WITH absent AS MATERIALIZED (SELECT DISTINCT size FROM items WHERE run = ?1 AND obstacle = ?3 AND state <> 'done')
		SELECT `+itemColumns+`, obstacle = ?3, (SELECT r.checksum FROM receipts r WHERE r.pair = ?2 AND r.key = items.key),
			coalesce((SELECT r.asset FROM receipts r WHERE r.pair = ?2 AND r.key = items.key), '')
		FROM items WHERE run = ?1 AND size IN absent AND (obstacle = ?3 AND state <> 'done' OR action = 'create' AND state IN ('planned', 'retries_exhausted'))
		ORDER BY size, key`, run, pair, absent)
}

// Recased lists the new objects of a run whose place has the asset of a missing object, whose
// obstacle is absent. PreviousKey is the key of the missing object, and Asset its asset. They are
// ordered by place and key.
func (s *Store) Recased(ctx context.Context, run, pair int64, absent string) ([]Item, error) {
	return query(ctx, s.r, "find names in another case", func(rows *sql.Rows) (i Item, err error) {
		var former, asset string
		i, err = scanItemAnd(rows, &former, &asset)
		i.PreviousKey, i.Asset = sources.Key(former), asset
		return i, err
	}, `WITH absent AS MATERIALIZED (SELECT r.slot AS place, r.key AS former, r.asset AS held FROM items g CROSS JOIN receipts r ON r.pair = ?2 AND r.key = g.key
			WHERE g.run = ?1 AND g.obstacle = ?3 AND g.state <> 'done')
		SELECT `+itemColumns+`, former, held FROM items JOIN absent ON slot = place
		WHERE run = ?1 AND action = 'create' AND state = 'planned' AND previous_key = '' ORDER BY slot, key, former`, run, pair, absent)
}

// AddDrift adds items for objects that are unchanged at the source and changed at the destination.
// Existing items stay.
func (s *Store) AddDrift(ctx context.Context, run int64, items []Item) error {
	return s.Write(ctx, "add drift", func(ctx context.Context, tx *sql.Tx) error {
		if err := onAddDrift.isPossible(ctx, tx, run); err != nil {
			return err
		}
		var before, after int64
		var bytesBefore, bytesAfter int64
		const count = `SELECT count(*), coalesce(sum(size), 0) FROM items WHERE run = ? AND key >= ? AND key <= ?`
		first, last := items[0].Key, items[len(items)-1].Key
		if err := tx.QueryRowContext(ctx, count, run, first, last).Scan(&before, &bytesBefore); err != nil {
			return err
		}
		if err := insertItems(ctx, tx, onAddDrift, run, items); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, count, run, first, last).Scan(&after, &bytesAfter); err != nil {
			return err
		}
		return One(ctx, tx, `UPDATE runs SET unchanged = unchanged - ?, unchanged_bytes = unchanged_bytes - ? WHERE num = ?`,
			after-before, bytesAfter-bytesBefore, run)
	})
}

// DriftCursor returns the key up to which the last run of a pair and wave compared receipts with the
// destination.
func (s *Store) DriftCursor(ctx context.Context, pair Pair) (key sources.Key, err error) {
	if pair.Wave == "" {
		err = s.r.row(ctx, "find drift cursor", `SELECT drift_cursor FROM pairs WHERE id = ?`, pair.ID).Scan(&key)
		return key, err
	}
	err = s.r.row(ctx, "find drift cursor", `SELECT coalesce((SELECT drift_cursor FROM runs WHERE pair = ? AND wave = ?
		AND command = 'sync' AND state = 'finished' ORDER BY num DESC LIMIT 1), '')`, pair.ID, pair.Wave).Scan(&key)
	return key, err
}

// An Ending holds the results of a finished sync for the state database.
type Ending struct {
	Absent  string // the obstacle of missing objects; empty without a complete listing
	Retried bool   // all previously failed objects were listed
	Touched string // the reason of objects that only seem to have changed
	// Remapped says that assets may have metadata by other rules than those of the run. Assets that
	// the run did not update lack metadata then.
	Remapped bool
}

// FinishSync ends a sync in which nothing is left to do. Missing objects become orphans. Objects
// with only another time or version, or only other metadata, are stored with their new fingerprint.
func (s *Store) FinishSync(ctx context.Context, run Run, e Ending) error {
	return s.Write(ctx, "finish run", func(ctx context.Context, tx *sql.Tx) error {
		if e.Absent != "" {
			if err := noteOrphans(ctx, tx, run, e.Absent); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE receipts SET time = i.time, version_tag = i.version_tag, content_type = i.content_type
			FROM items i WHERE i.run = ?1 AND (i.reason = ?2 OR i.action = 'update_metadata' AND i.state = 'done') AND receipts.pair = ?3 AND receipts.key = i.key AND receipts.size = i.size`,
			run.Num, e.Touched, run.Pair.ID); err != nil {
			return err
		}
		if e.Remapped {
			if err := notePendingMetadata(ctx, tx, run); err != nil {
				return err
			}
		}
		if err := forgetFailures(ctx, tx, run, e); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE pairs SET drift_cursor = (SELECT drift_cursor FROM runs WHERE num = ?) WHERE id = ? AND ? = ''`, run.Num, run.Pair.ID, run.Pair.Wave); err != nil {
			return err
		}
		return finishRun(ctx, tx, run.Num, s.now())
	})
}

// notePendingMetadata marks the objects with an item whose assets the run did not update by its
// rules. Moved assets keep their former metadata.
func notePendingMetadata(ctx context.Context, tx *sql.Tx, run Run) error {
	_, err := tx.ExecContext(ctx, `UPDATE receipts SET metadata_pending = 1 WHERE pair = ?1
		AND key IN (SELECT key FROM items WHERE run = ?2
		AND action NOT IN ('unchanged', 'conflict') AND (state <> 'done' OR action = 'move'))`, run.Pair.ID, run.Num)
	return wrap("mark pending metadata", err)
}

// NoteSync stores why a safety check stops a plan or a part of it, and the key up to which the plan
// compared receipts with the destination.
func (s *Store) NoteSync(ctx context.Context, run int64, stopped string, driftCursor sources.Key) error {
	return s.Write(ctx, "save plan of sync", func(ctx context.Context, tx *sql.Tx) error {
		if err := One(ctx, tx, `UPDATE runs SET stopped = ?, drift_cursor = ? WHERE num = ?`, stopped, driftCursor, run); err != nil || stopped == "" {
			return err
		}
		return s.logRun(ctx, tx, actionlog.SafetyCheck, run, nil) // without the reason, which may name an object
	})
}

// LastFinished returns the newest finished run of a pair, its wave, and a command; ErrNotFound if
// there is none.
func (s *Store) LastFinished(ctx context.Context, pair Pair, command string) (Run, error) {
	runs, err := query(ctx, s.r, "find run", scanRun, `SELECT `+runColumns+`
		WHERE r.pair = ? AND r.wave = ? AND r.command = ? AND r.state = 'finished' ORDER BY r.num DESC LIMIT 1`, pair.ID, pair.Wave, command)
	return First(runs, err, "run")
}

// forgetFailures deletes the failures of objects that a sync found unchanged, or did not find any
// more. A run of a wave keeps the failures of other waves. It also keeps those of objects that may have
// been uploaded and have no receipt: they may be in another wave since the waves were changed.
func forgetFailures(ctx context.Context, tx *sql.Tx, run Run, e Ending) error {
	if e.Absent == "" && !e.Retried {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM failures WHERE pair = ?1 AND (?5 = '' OR last_run IN (SELECT num FROM runs WHERE pair = ?1 AND wave = ?5)
		AND (unclear = 0 OR EXISTS (SELECT 1 FROM receipts r WHERE r.pair = ?1 AND r.key = failures.key))) AND NOT EXISTS (SELECT 1 FROM items i
		WHERE i.run = ?2 AND i.key = failures.key AND i.reason <> ?3 AND (?4 = '' OR i.obstacle <> ?4))`, run.Pair.ID, run.Num, e.Touched, e.Absent, run.Pair.Wave)
	return err
}

// An Orphan is an uploaded object that finished runs did not find at the source any more.
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

// noteOrphans updates the orphans of a pair with the missing objects of a run: its items with an
// obstacle whose assets still exist. A run of a wave keeps the orphans of other waves, unless it moved
// them. An orphan that comes to another wave is missed for the first time there.
func noteOrphans(ctx context.Context, tx *sql.Tx, run Run, absent string) error {
	const missed = `SELECT i.key FROM items i JOIN receipts r ON r.pair = ?1 AND r.key = i.key WHERE i.run = ?2 AND i.obstacle = ?3`
	if _, err := tx.ExecContext(ctx, `DELETE FROM orphans WHERE pair = ?1 AND key NOT IN (`+missed+`)
		AND (`+ofWave("?4")+` OR NOT EXISTS (SELECT 1 FROM receipts r WHERE r.pair = ?1 AND r.key = orphans.key))`, run.Pair.ID, run.Num, absent, run.Pair.Wave); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO orphans (pair, key, since, runs, wave) SELECT ?1, key, ?4, 1, ?5 FROM (`+missed+`) WHERE true
		ON CONFLICT DO UPDATE SET runs = CASE wave WHEN ?5 THEN runs + 1 ELSE 1 END, since = CASE wave WHEN ?5 THEN since ELSE ?4 END, wave = ?5`,
		run.Pair.ID, run.Num, absent, run.ListedAt.UnixMilli(), run.Pair.Wave)
	return err
}

// MetUnsized reports whether a run found all of some keys, but could not process them or read their
// sizes. A pruned run found none.
func (s *Store) MetUnsized(ctx context.Context, run int64, keys []sources.Key) (all bool, err error) {
	var met int
	err = s.r.row(ctx, "find unsized objects", `SELECT count(*) FROM items WHERE run = ?
		AND state = 'failed' AND size = 0 AND obstacle <> '' AND key IN `+List(len(keys)), listed(keys, run)...).Scan(&met)
	return met == len(keys), err
}

// Orphan returns since when an object is missing at the source; ErrNotFound if it is not.
func (s *Store) Orphan(ctx context.Context, pair int64, key sources.Key) (Orphan, error) {
	all, err := query(ctx, s.r, "find orphan", scanOrphan, `SELECT key, since, runs FROM orphans WHERE pair = ? AND key = ?`, pair, key)
	return First(all, err, "orphan "+string(key))
}
