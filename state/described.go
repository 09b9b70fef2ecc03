package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
)

// A Described is what the source said of an object when its asset was described last.
type Described struct {
	Key      string
	Metadata string // an object of JSON
}

// Described lists what was said of the objects of a pair in key order, those with keys
// after the given one.
func (s *Store) Described(ctx context.Context, pair int64, after string) iter.Seq2[Described, error] {
	return paged(after, func(d Described) string { return d.Key }, func(after string) ([]Described, error) {
		return query(ctx, s.r, "list what was described", func(rows *sql.Rows) (d Described, err error) {
			return d, rows.Scan(&d.Key, &d.Metadata)
		}, `SELECT key, metadata FROM described WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, pageSize)
	})
}

// DescribedAs is what the source said of an object when its asset was described last,
// empty if that was nothing.
func (s *Store) DescribedAs(ctx context.Context, pair int64, key string) (metadata string, err error) {
	const op = "find what was described"
	err = s.r.QueryRowContext(ctx, `SELECT metadata FROM described WHERE pair = ? AND key = ?`, pair, key).Scan(&metadata)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return metadata, wrap(op, interrupted(ctx, op, err))
}

// note keeps what the source said of an object that is described now. Most runs describe
// nothing, so the statement is only prepared when it is needed.
func (r *recorder) note(ctx context.Context, o Outcome) (err error) {
	if o.Described == "" || o.State != ItemDone {
		return nil
	}
	if r.described == nil {
		if r.described, err = r.tx.PrepareContext(ctx, `INSERT INTO described (pair, key, metadata) VALUES (?, ?, ?)
			ON CONFLICT (pair, key) DO UPDATE SET metadata = excluded.metadata`); err != nil {
			return err
		}
	}
	if _, err := r.described.ExecContext(ctx, r.pair, o.Key, o.Described); err != nil {
		return fmt.Errorf("save what was described: %w", err)
	}
	return nil
}

// forgetDescribed forgets what the source said of an object whose asset is another one now,
// of which nobody has said anything.
func forgetDescribed(ctx context.Context, tx *sql.Tx, pair int64, key string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM described WHERE pair = ? AND key = ?`, pair, key)
	return wrap("forget what was described", err)
}
