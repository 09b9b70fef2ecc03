package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// A Sidecar is a file beside an object that describes it, as it was listed last.
type Sidecar struct {
	Key        string
	Folded     string // the key as it is looked for: see metadata.FoldSidecar
	Size       int64
	Time       time.Time
	VersionTag string
	// Pending says that an asset which is there already is still to be described by it.
	Pending bool
}

// unclaimed is what a sidecar has as pending of which no run takes care yet; else that is
// the run, or 0 for none.
const unclaimed = -1

// saveSidecars takes down what a page of a listing says of sidecars.
func saveSidecars(ctx context.Context, tx *sql.Tx, run int64, listed []Sidecar, lost []string) error {
	if len(listed) > 0 {
		save, err := tx.PrepareContext(ctx, `INSERT INTO sidecars (pair, key, folded, size, time, version_tag, pending)
			VALUES ((SELECT pair FROM runs WHERE num = ?), ?, ?, ?, ?, ?, ?) ON CONFLICT (pair, key) DO UPDATE SET size = excluded.size,
			time = excluded.time, version_tag = excluded.version_tag, pending = excluded.pending`)
		if err != nil {
			return err
		}
		defer save.Close()
		for _, s := range listed {
			if _, err := save.ExecContext(ctx, run, s.Key, s.Folded, s.Size, nanos(s.Time), s.VersionTag, unclaimed); err != nil {
				return fmt.Errorf("save sidecar %s: %w", s.Key, err)
			}
		}
	}
	for _, key := range lost {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sidecars WHERE pair = (SELECT pair FROM runs WHERE num = ?) AND key = ?`, run, key); err != nil {
			return fmt.Errorf("forget sidecar %s: %w", key, err)
		}
	}
	return nil
}

// SaveSidecars takes down sidecars that were told from objects only after the listing.
func (s *Store) SaveSidecars(ctx context.Context, run int64, all []Sidecar) error {
	return s.write(ctx, "save sidecars", func(ctx context.Context, tx *sql.Tx) error {
		return saveSidecars(ctx, tx, run, all, nil)
	})
}

const sidecarColumns = `key, folded, size, time, version_tag, pending <> 0`

func scanSidecar(rows *sql.Rows) (c Sidecar, err error) {
	var changed int64
	err = rows.Scan(&c.Key, &c.Folded, &c.Size, &changed, &c.VersionTag, &c.Pending)
	c.Time = fromNanos(changed)
	return c, err
}

// Sidecars lists the sidecars of a pair in key order, those with keys after the given one.
func (s *Store) Sidecars(ctx context.Context, pair int64, after string) iter.Seq2[Sidecar, error] {
	return s.sidecars(ctx, pair, after, "")
}

// PendingSidecars lists those of them by which an asset is still to be described.
func (s *Store) PendingSidecars(ctx context.Context, pair int64) iter.Seq2[Sidecar, error] {
	return s.sidecars(ctx, pair, "", ` AND pending <> 0`)
}

func (s *Store) sidecars(ctx context.Context, pair int64, after, condition string) iter.Seq2[Sidecar, error] {
	return paged(after, func(c Sidecar) string { return c.Key }, func(after string) ([]Sidecar, error) {
		return query(ctx, s.r, "list sidecars", scanSidecar,
			`SELECT `+sidecarColumns+` FROM sidecars WHERE pair = ? AND key > ?`+condition+` ORDER BY key LIMIT ?`, pair, after, pageSize)
	})
}

// SidecarsAmong finds the sidecars that have some keys, folded.
func (s *Store) SidecarsAmong(ctx context.Context, pair int64, folded []string) ([]Sidecar, error) {
	return query(ctx, s.r, "find sidecars", scanSidecar,
		`SELECT `+sidecarColumns+` FROM sidecars WHERE pair = ? AND folded IN `+list(len(folded))+` ORDER BY key`, listed(folded, pair)...)
}

// A SidecarOwner is what a sidecar may describe: one that has arrived, or that a run
// has an item of.
type SidecarOwner struct {
	Key     string
	Arrived bool
	Action  Action // of its item; empty if there is none, or it is not decided yet
}

// SidecarOwners finds, in key order, the objects that sidecars may describe: those with some
// keys, and those whose keys begin with some texts and are in the folders that these name.
func (s *Store) SidecarOwners(ctx context.Context, run, pair int64, keys, begins []string) ([]SidecarOwner, error) {
	const arrived, items = `SELECT key, 1 AS arrived, '' AS action FROM %sreceipts WHERE pair = ?1`, `SELECT key, 0, coalesce(action, '') FROM %sitems WHERE run = ?2`
	const named = ` AND key IN (SELECT value FROM json_each(?3))`
	const begun = ` AND key >= b.value AND key < b.value || char(1114111) AND instr(substr(key, length(b.value) + 1), '/') = 0`
	const beginning = `(SELECT value FROM json_each(?4)) b CROSS JOIN ` // so that each is looked up
	exact, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	open, err := json.Marshal(begins)
	if err != nil {
		return nil, err
	}
	both := func(from, condition string) string {
		return fmt.Sprintf(arrived, from) + condition + ` UNION ALL ` + fmt.Sprintf(items, from) + condition
	}
	return query(ctx, s.r, "find what sidecars describe", func(rows *sql.Rows) (o SidecarOwner, err error) {
		return o, rows.Scan(&o.Key, &o.Arrived, (*string)(&o.Action))
	}, `SELECT key, max(arrived), max(action) FROM (`+both("", named)+` UNION ALL `+both(beginning, begun)+`) GROUP BY key ORDER BY key`, pair, run, string(exact), string(open))
}

// ClaimSidecars notes that a run describes the assets by some sidecars, or if it is 0 that
// nothing is left to describe by them.
func (s *Store) ClaimSidecars(ctx context.Context, pair, run int64, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	these, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return s.write(ctx, "claim sidecars", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE sidecars SET pending = ? WHERE pair = ? AND key IN (SELECT value FROM json_each(?))`, run, pair, string(these))
		return err
	})
}

// settleSidecars notes at the end of a run that it has described what it was to describe.
// Where it could not, a later one will: to do it again does no harm.
func settleSidecars(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE sidecars SET pending = CASE WHEN EXISTS
		(SELECT 1 FROM items WHERE run = ?1 AND action = 'describe' AND state <> 'done') THEN ?2 ELSE 0 END
		WHERE pair = (SELECT pair FROM runs WHERE num = ?1) AND pending = ?1`, run, unclaimed)
	return wrap("settle sidecars", err)
}
