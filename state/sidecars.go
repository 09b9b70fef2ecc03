package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"assetferry/sources"
)

// A Sidecar is a file with the metadata of an object next to it, as it was last listed.
type Sidecar struct {
	sources.Object
	Folded string // the key in the form for lookups: see metadata.FoldSidecar
	// Pending says that an asset may still need its metadata.
	Pending bool
	Claimed int64 // by the run of this number; 0 if by none
	Unread  bool  // it could not be read when an asset was updated
	// Missed is the run that did not list it any more; 0 if it was listed. It stays known: if it
	// reappears unchanged, no asset needs an update.
	Missed int64
}

// The column pending of a sidecar holds the number of the run that processes it, 0 if nothing is
// left to do, or one of these. Lower values encode the run that missed it.
const (
	unclaimed = -1
	unread    = -2
)

func missedBy(run int64) int64 { return unread - run }

// standing returns the pending value of a sidecar that was listed, or missed.
func (c Sidecar) standing() int64 {
	switch {
	case c.Missed != 0:
		return missedBy(c.Missed)
	case c.Claimed != 0:
		return c.Claimed
	case c.Pending:
		return unclaimed
	}
	return 0
}

// saveSidecars stores the sidecars of a page of a listing.
func saveSidecars(ctx context.Context, tx *sql.Tx, run int64, listed []Sidecar, lost []sources.Key) error {
	if len(listed) > 0 {
		if err := insertSidecars(ctx, tx, run, listed); err != nil {
			return fmt.Errorf("save sidecars: %w", err)
		}
	}
	for _, key := range lost {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sidecars WHERE pair = (SELECT pair FROM runs WHERE num = ?) AND key = ?`, run, key); err != nil {
			return fmt.Errorf("delete sidecar %s: %w", key, err)
		}
	}
	return nil
}

func insertSidecars(ctx context.Context, tx *sql.Tx, run int64, listed []Sidecar) error {
	var pair int64
	if err := tx.QueryRowContext(ctx, `SELECT pair FROM runs WHERE num = ?`, run).Scan(&pair); err != nil {
		return err
	}
	into := inserter{tx: tx, insertMany: insertSidecar}
	for chunk := range slices.Chunk(listed, rowsAtOnce) {
		into.begin(pair)
		for _, c := range chunk {
			into.args = sidecarTable.Values(into.args, &sidecarRow{Sidecar: c})
		}
		if err := into.insert(ctx, len(chunk)); err != nil {
			return err
		}
	}
	return nil
}

// recordedAtOnce is the number of sidecars that one transaction records.
const recordedAtOnce = 2000

// RecordSidecars stores the sidecars that have items in a run, claimed by it, unless they are
// stored. The items of sidecars have the given reason; fold returns a key in the form for lookups.
func (s *Store) RecordSidecars(ctx context.Context, run int64, reason string, fold func(sources.Key) string) error {
	const skipped = ` run = ?1 AND reason = ?2 AND state = 'skipped' AND key > ?3 `
	for after := sources.Key(""); ; {
		keys, err := query(ctx, s.r, "list planned sidecars", func(rows *sql.Rows) (key sources.Key, err error) {
			return key, rows.Scan(&key)
		}, `SELECT key FROM items WHERE`+skipped+`ORDER BY key LIMIT ?4`, run, reason, after, recordedAtOnce)
		if err != nil || len(keys) == 0 {
			return err
		}
		last := keys[len(keys)-1]
		if err := s.Write(ctx, "record sidecars", func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO sidecars (pair, key, folded, size, time, version_tag, pending)
				SELECT (SELECT pair FROM runs WHERE num = ?1), key, key, size, time, version_tag, run FROM items
				WHERE`+skipped+`AND key <= ?4 ON CONFLICT (pair, key) DO NOTHING`, run, reason, after, last); err != nil {
				return err
			}
			return foldSidecars(ctx, tx, run, keys, fold)
		}); err != nil {
			return err
		}
		after = last
	}
}

// foldSidecars stores the form for lookups of the few keys that differ from it.
func foldSidecars(ctx context.Context, tx *sql.Tx, run int64, keys []sources.Key, fold func(sources.Key) string) error {
	for _, key := range keys {
		folded := fold(key)
		if folded == string(key) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `UPDATE sidecars SET folded = ? WHERE pair = (SELECT pair FROM runs WHERE num = ?) AND key = ?`, folded, run, key); err != nil {
			return err
		}
	}
	return nil
}

// SaveSidecars stores sidecars that were recognized only after the listing.
func (s *Store) SaveSidecars(ctx context.Context, run int64, all []Sidecar) error {
	return s.Write(ctx, "save sidecars", func(ctx context.Context, tx *sql.Tx) error {
		return saveSidecars(ctx, tx, run, all, nil)
	})
}

// A sidecarRow is a sidecar as its columns are.
type sidecarRow struct {
	Sidecar
	changed, pending int64 // read
}

// sidecarTable has the columns of a sidecar, without its pair.
var sidecarTable = Columns[sidecarRow]{
	{Name: "key", Value: func(r *sidecarRow) any { return r.Key }, Into: func(r *sidecarRow) any { return &r.Key }},
	{Name: "folded", Value: func(r *sidecarRow) any { return r.Folded }, Into: func(r *sidecarRow) any { return &r.Folded }},
	{Name: "size", Value: func(r *sidecarRow) any { return r.Size }, Into: func(r *sidecarRow) any { return &r.Size }},
	{Name: "time", Value: func(r *sidecarRow) any { return nanos(r.Time) }, Into: func(r *sidecarRow) any { return &r.changed }},
	{Name: "version_tag", Value: func(r *sidecarRow) any { return r.VersionTag }, Into: func(r *sidecarRow) any { return &r.VersionTag }},
	{Name: "pending", Value: func(r *sidecarRow) any { return r.standing() }, Into: func(r *sidecarRow) any { return &r.pending }},
}

// The columns and statements of sidecars.
var (
	insertSidecar = insertMany{`INSERT INTO sidecars (pair, ` + sidecarTable.Names() + `) VALUES `, `?1, ` + sidecarTable.Marks(),
		` ON CONFLICT (pair, key) DO UPDATE SET ` + sidecarTable.Only("size", "time", "version_tag", "pending").Excluded()}
	sidecarColumns = sidecarTable.Reads()
)

// ofUse selects the sidecars that an asset may still need. The index uses its first part.
const ofUse = `pending <> 0 AND pending >= -2`

func scanSidecars() func(*sql.Rows) (Sidecar, error) {
	return scanner(sidecarTable, (*sidecarRow).sidecar)
}

func (r *sidecarRow) sidecar() Sidecar {
	c, pending := r.Sidecar, r.pending
	c.Time = fromNanos(r.changed)
	c.Pending, c.Claimed, c.Unread, c.Missed = pending != 0 && pending >= unread, max(pending, 0), pending == unread, max(unread-pending, 0)
	return c
}

// Sidecars lists the sidecars of a pair in key order, those with keys after the given one.
func (s *Store) Sidecars(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Sidecar, error] {
	return s.sidecars(ctx, pair, after, "")
}

// PendingSidecars lists the sidecars that an asset still needs.
func (s *Store) PendingSidecars(ctx context.Context, pair int64) iter.Seq2[Sidecar, error] {
	return s.sidecars(ctx, pair, "", ` AND `+ofUse)
}

func (s *Store) sidecars(ctx context.Context, pair int64, after sources.Key, condition string) iter.Seq2[Sidecar, error] {
	return paged(s.r, after, func(c Sidecar) sources.Key { return c.Key }, func(after sources.Key) ([]Sidecar, error) {
		return query(ctx, s.r, "list sidecars", scanSidecars(),
			`SELECT `+sidecarColumns+` FROM sidecars WHERE pair = ? AND key > ?`+condition+` ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// sidecarsAmong names its index: with the primary key, SQLite would read all sidecars, and each object has
// such a query.
var sidecarsAmong = `SELECT ` + sidecarColumns + ` FROM sidecars INDEXED BY sidecars_folded WHERE pair = ? AND folded IN (SELECT value FROM json_each(?)) ORDER BY key`

// SidecarsAmong returns the sidecars with some folded keys.
func (s *Store) SidecarsAmong(ctx context.Context, pair int64, folded []string) ([]Sidecar, error) {
	these, err := json.Marshal(folded)
	if err != nil {
		return nil, err
	}
	return query(ctx, s.r, "find sidecars", scanSidecars(), sidecarsAmong, pair, string(these))
}

// A SidecarOwner is an object that a sidecar may belong to: an uploaded one, or one with an item in
// the run.
type SidecarOwner struct {
	Key     sources.Key
	Arrived bool
	Run     int64  // the run that created its asset, or last updated its metadata
	Action  Action // of its item; empty if there is none, or it is not decided yet
}

// SidecarOwners returns, in key order, the objects that sidecars may belong to: those with some
// keys, and those whose keys begin with some prefixes and have no further slash.
func (s *Store) SidecarOwners(ctx context.Context, run, pair int64, keys, begins []string) ([]SidecarOwner, error) {
	const arrived, items = `SELECT key, 1 AS arrived, run AS made, '' AS action FROM %sreceipts WHERE pair = ?1`, `SELECT key, 0, 0, coalesce(action, '') FROM %sitems WHERE run = ?2`
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
	return query(ctx, s.r, "find objects of sidecars", func(rows *sql.Rows) (o SidecarOwner, err error) {
		return o, rows.Scan(&o.Key, &o.Arrived, &o.Run, (*string)(&o.Action))
	}, `SELECT key, max(arrived), max(made), max(action) FROM (`+both("", named)+` UNION ALL `+both(beginning, begun)+`) GROUP BY key ORDER BY key`, pair, run, string(exact), string(open))
}

// ClaimSidecars records that a run processes some sidecars, or none does if it is 0.
func (s *Store) ClaimSidecars(ctx context.Context, pair, run int64, keys []sources.Key) error {
	if run == 0 {
		run = unclaimed
	}
	return s.setPending(ctx, "claim sidecars", pair, run, keys)
}

// UnreadSidecar records that a sidecar could not be read, so that a later run tries again.
func (s *Store) UnreadSidecar(ctx context.Context, pair int64, key sources.Key) error {
	return s.setPending(ctx, "mark unread sidecar", pair, unread, []sources.Key{key})
}

func (s *Store) setPending(ctx context.Context, op string, pair, pending int64, keys []sources.Key) error {
	if len(keys) == 0 {
		return nil
	}
	these, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return s.Write(ctx, op, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE sidecars SET pending = ? WHERE pair = ? AND key IN (SELECT value FROM json_each(?))`, pending, pair, string(these))
		return err
	})
}

// ForgetSidecar deletes a missed sidecar, because an asset was updated without it.
func (s *Store) ForgetSidecar(ctx context.Context, pair int64, key sources.Key) error {
	return s.Write(ctx, "delete sidecar", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM sidecars WHERE pair = ? AND key = ?`, pair, key)
		return err
	})
}

// resolveSidecars records at the end of a run that the sidecars which it claimed are processed.
func resolveSidecars(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE sidecars SET pending = 0 WHERE pair = (SELECT pair FROM runs WHERE num = ?1) AND pending = ?1 AND pending <> 0`, run)
	return wrap("resolve sidecars", err)
}
