package state

import (
	"context"
	"database/sql"
	"errors"

	"assetferry/state/actionlog"
	"assetferry/state/erasure"
)

// Forgettable finds what the state database has about the objects of a pair with some keys.
func (s *Store) Forgettable(ctx context.Context, pair Pair, keys []string) (found erasure.Selection, err error) {
	const op = "find data about objects"
	err = s.hook.around(op, func() (err error) {
		found, err = erasure.Select(ctx, s.r.DB, pair.ID, pair.Destination, keys)
		return wrap(op, interrupted(ctx, op, err))
	})
	return found, err
}

// Forget deletes all data about the objects of a pair with some keys, which Forgettable has found.
// Plans with these objects are superseded. The action log gets an entry without keys. The deleted data
// is in the file until Compact, and in the backup until Backup.
func (s *Store) Forget(ctx context.Context, pair Pair, keys []string, found erasure.Selection) error {
	return s.Write(ctx, "forget objects", func(ctx context.Context, tx *sql.Tx) error {
		for _, run := range found.Plans {
			if err := supersede(ctx, tx, run, s.now()); err != nil {
				return err
			}
			if err := s.logRun(ctx, tx, actionlog.RunAbandoned, run, nil); err != nil {
				return err
			}
		}
		recount, err := prepareRecount(ctx, tx, pair.ID)
		if err != nil {
			return err
		}
		if err := erasure.Delete(ctx, tx, found, keys); err != nil {
			return err
		}
		if err := recount(); err != nil {
			return err
		}
		return s.LogAction(ctx, tx, actionlog.Entry{Kind: actionlog.ObjectsForgotten, Details: actionlog.Details{
			"source": pair.Source, "destination": pair.Destination, "objects": len(keys), "upload_records": len(found.Records),
			"items": found.Items, "proposals": found.Proposals,
		}})
	})
}

// prepareRecount returns a function that counts the unchanged objects of the newest run with such
// objects again, so that its report can still list them. Their number need not be known now, and then
// the function does nothing.
func prepareRecount(ctx context.Context, tx *sql.Tx, pair int64) (recount func() error, err error) {
	var run, unchanged, n, bytes int64
	err = tx.QueryRowContext(ctx, `SELECT num, unchanged FROM runs WHERE pair = ? AND unchanged > 0 ORDER BY num DESC LIMIT 1`, pair).Scan(&run, &unchanged)
	if errors.Is(err, sql.ErrNoRows) {
		return func() error { return nil }, nil
	} else if err != nil {
		return nil, err
	}
	sum := func() error {
		return tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(r.size), 0)`+unlisted, pair, run).Scan(&n, &bytes)
	}
	if err := sum(); err != nil {
		return nil, err
	}
	known := n == unchanged
	return func() error {
		if !known {
			return nil
		}
		if err := sum(); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE runs SET unchanged = ?, unchanged_bytes = ? WHERE num = ?`, n, bytes, run)
		return err
	}, nil
}

// Readmit has forgotten objects uploaded again by the next run.
func (s *Store) Readmit(ctx context.Context, pair Pair, keys []string) error {
	return s.Write(ctx, "readmit objects", func(ctx context.Context, tx *sql.Tx) error {
		if err := erasure.Readmit(ctx, tx, pair.ID, keys); err != nil {
			return err
		}
		return s.LogAction(ctx, tx, actionlog.Entry{Kind: actionlog.ObjectsReadmitted, Details: actionlog.Details{
			"source": pair.Source, "destination": pair.Destination, "objects": len(keys),
		}})
	})
}
