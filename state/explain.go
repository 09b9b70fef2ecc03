package state

import (
	"context"
	"database/sql"
	"encoding/hex"
	"time"

	"assetferry/sources"
)

// A Stage is the action of one run for an object, and its outcome.
type Stage struct {
	Run  Run
	Item Item
}

// Stages lists the runs of a pair that have an item of an object, in order. Runs in which the
// object was unchanged have none.
func (s *Store) Stages(ctx context.Context, pair int64, key sources.Key) ([]Stage, error) {
	items, err := query(ctx, s.r, "list runs of an object", func(rows *sql.Rows) (st Stage, err error) {
		return st, rows.Scan(&st.Run.ID)
	}, `SELECT r.id FROM runs r JOIN items i ON i.run = r.num AND i.key = ? WHERE r.pair = ? ORDER BY r.num`, key, pair)
	for n := range items {
		if items[n].Run, err = s.Run(ctx, items[n].Run.ID); err != nil {
			return nil, err
		}
		if items[n].Item, err = s.Item(ctx, items[n].Run.Num, key); err != nil {
			return nil, err
		}
	}
	return items, err
}

// An Attempt is a failed attempt at an item.
type Attempt struct {
	Number int
	At     time.Time
	Class  string
	Error  string
}

// Attempts lists the failed attempts at an item of a run, in order.
func (s *Store) Attempts(ctx context.Context, run int64, key sources.Key) ([]Attempt, error) {
	return query(ctx, s.r, "list attempts", func(rows *sql.Rows) (a Attempt, err error) {
		var at int64
		err = rows.Scan(&a.Number, &at, &a.Class, &a.Error)
		a.At = fromMillis(at)
		return a, err
	}, `SELECT attempt, at, class, error FROM attempts WHERE run = ? AND key = ? ORDER BY rowid`, run, key)
}

// DifferencesOf lists the differences that a verification found for an asset.
func (s *Store) DifferencesOf(ctx context.Context, verification int64, asset string) ([]Difference, error) {
	return query(ctx, s.r, "list differences", scanDifference, `SELECT key, asset, field, what FROM differences
		WHERE verification = ? AND asset = ? ORDER BY field`, verification, asset)
}

// KeyOfAsset returns the object of a pair whose asset it is; ErrNotFound if there is none.
func (s *Store) KeyOfAsset(ctx context.Context, pair int64, asset string) (sources.Key, error) {
	all, err := query(ctx, s.r, "find object of asset", scanKey, `SELECT key FROM receipts WHERE pair = ? AND asset = ?`, pair, asset)
	return First(all, err, "object of asset "+asset)
}

// KeysEnding lists a few keys of a pair that are a name, or end in a slash and the name, regardless
// of case. It reads all keys.
func (s *Store) KeysEnding(ctx context.Context, pair int64, name string, limit int) ([]sources.Key, error) {
	return query(ctx, s.r, "find keys", scanKey, `SELECT DISTINCT key FROM (
			SELECT key FROM receipts WHERE pair = ?1
			UNION ALL SELECT key FROM items WHERE run = (SELECT max(num) FROM runs WHERE pair = ?1))
		WHERE lower(substr('/' || key, -length(?2) - 1)) = '/' || lower(?2) ORDER BY key LIMIT ?3`, pair, name, limit)
}

// A PreviousAsset is an asset as it was before a run changed it.
type PreviousAsset struct {
	Run      Run
	Key      sources.Key // that its object went by
	Size     int64
	Checksum []byte // of its content
	Asset    string
	Done     bool // the run did change it
}

// PreviousAssets lists the stored previous states of an object's asset, by run. They are kept as
// long as the items of the runs.
func (s *Store) PreviousAssets(ctx context.Context, pair int64, key sources.Key) ([]PreviousAsset, error) {
	all, err := query(ctx, s.r, "list previous states of assets", func(rows *sql.Rows) (e PreviousAsset, err error) {
		var checksum string
		if err := rows.Scan(&e.Run.ID, &e.Key, &e.Size, &checksum, &e.Asset, &e.Done); err != nil {
			return e, err
		}
		e.Checksum, err = hex.DecodeString(checksum)
		return e, err
	}, `SELECT r.id, f.receipt ->> '$.key', f.receipt ->> '$.size', f.receipt ->> '$.checksum', f.receipt ->> '$.asset', coalesce(i.state = 'done', 0)
		FROM runs r JOIN former f ON f.run = r.num AND f.key = ?1 LEFT JOIN items i ON i.run = r.num AND i.key = f.key
		WHERE r.pair = ?2 ORDER BY r.num`, key, pair)
	for n := range all {
		if all[n].Run, err = s.Run(ctx, all[n].Run.ID); err != nil {
			return nil, err
		}
	}
	return all, err
}

// MovedTo returns the latest key of an object with a former key, and the run that moved it;
// ErrNotFound if no run did, or if the run was pruned.
func (s *Store) MovedTo(ctx context.Context, pair int64, key sources.Key) (to sources.Key, run string, err error) {
	all, err := query(ctx, s.r, "find move", func(rows *sql.Rows) (m [2]string, err error) {
		return m, rows.Scan(&m[0], &m[1])
	}, `SELECT i.key, r.id FROM runs r JOIN former f ON f.run = r.num JOIN items i ON i.run = r.num AND i.key = f.key
		WHERE r.pair = ?1 AND f.receipt ->> '$.key' = ?2 AND i.previous_key = ?2 AND i.action IN ('move', 'replace') AND i.state = 'done' ORDER BY r.num DESC LIMIT 1`, pair, key)
	m, err := First(all, err, "move of "+string(key))
	return sources.Key(m[0]), m[1], err
}
