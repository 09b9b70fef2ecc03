package state

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"assetferry/sources"
)

// A Described is what the source said of an object when its asset was described last.
type Described struct {
	Key      sources.Key
	Metadata string // an object of JSON, empty if nothing was said
	Table    string // what the table of the user said, as it is in Found; empty if nothing
	Found    string // all that was found, an object of JSON by origin; empty if nothing was
	Given    string // of Found, the old addresses that a sidecar or the source gives; empty if there are none
}

// Described lists what was said of the objects of a pair in key order, those with keys
// after the given one. Of what was found it has what is from the table, and old addresses.
func (s *Store) Described(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Described, error] {
	return paged(s.r, after, func(d Described) sources.Key { return d.Key }, func(after sources.Key) ([]Described, error) {
		return query(ctx, s.r, "list what was described", func(rows *sql.Rows) (d Described, err error) {
			err = rows.Scan(&d.Key, &d.Metadata, &d.Table, &d.Given)
			return d.orEmpty(), err
		}, `SELECT key, metadata, coalesce(found -> '$.table', ''), `+givenAddresses+` FROM described WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// givenAddresses are the old addresses that a sidecar or the source gives, as they are in
// what was found.
const givenAddresses = `CASE WHEN coalesce(found -> '$.sidecar.address', found -> '$.source.address') IS NULL THEN '' ELSE json_object(
	'sidecar', json_object('address', coalesce(found -> '$.sidecar.address', json('[]'))),
	'source', json_object('address', coalesce(found -> '$.source.address', json('[]')))) END`

// DescribedAs is what the source said of an object when its asset was described last;
// nothing if nobody has described it.
func (s *Store) DescribedAs(ctx context.Context, pair int64, key sources.Key) (d Described, err error) {
	const op = "find what was described"
	err = s.r.row(ctx, op, `SELECT key, metadata, coalesce(found -> '$.table', ''), found FROM described WHERE pair = ? AND key = ?`, pair, key).
		Scan(&d.Key, &d.Metadata, &d.Table, &d.Found)
	if errors.Is(err, sql.ErrNoRows) {
		return d, nil
	}
	return d.orEmpty(), err
}

// nothing is what the columns have where nothing was said or found.
const nothing = `{}`

func (d Described) orEmpty() Described {
	if d.Metadata == nothing {
		d.Metadata = ""
	}
	if d.Found == nothing {
		d.Found = ""
	}
	return d
}

// FoundTwice lists the objects of which several origins said something, in key order, with
// all that was found.
func (s *Store) FoundTwice(ctx context.Context, pair int64) iter.Seq2[Described, error] {
	return paged(s.r, "", func(d Described) sources.Key { return d.Key }, func(after sources.Key) ([]Described, error) {
		return query(ctx, s.r, "list what was found", func(rows *sql.Rows) (d Described, err error) {
			return d, rows.Scan(&d.Key, &d.Metadata, &d.Found)
		}, `SELECT key, metadata, found FROM described WHERE pair = ? AND key > ?
			AND (SELECT count(*) FROM json_each(found)) > 1 ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// note keeps what the source said of an object that is described now. Most runs describe
// nothing, so the statement is only prepared when it is needed.
func (r *recorder) note(ctx context.Context, o Outcome) (err error) {
	if o.Described == "" && o.Found == "" || o.State != ItemDone {
		return nil
	}
	if r.described == nil {
		if r.described, err = r.tx.PrepareContext(ctx, `INSERT INTO described (pair, key, metadata, found) VALUES (?, ?, ?, ?)
			ON CONFLICT (pair, key) DO UPDATE SET metadata = excluded.metadata, found = excluded.found`); err != nil {
			return err
		}
	}
	if _, err := r.described.ExecContext(ctx, r.pair, o.Key, cmp.Or(o.Described, nothing), cmp.Or(o.Found, nothing)); err != nil {
		return fmt.Errorf("save what was described: %w", err)
	}
	return nil
}

// forgetDescribed forgets what the source said of an object whose asset is another one now,
// of which nobody has said anything.
func forgetDescribed(ctx context.Context, tx *sql.Tx, pair int64, key sources.Key) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM described WHERE pair = ? AND key = ?`, pair, key)
	return wrap("forget what was described", err)
}
