package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assetferry/sources"
)

// A Former is the state of an asset before a run changes it, for an undo. The state database adds
// its receipt.
type Former struct {
	Key   sources.Key     // of the item
	Of    sources.Key     // key of the receipt: the same, except for moves
	Asset json.RawMessage // a JSON object: the parts that users can change
}

// formerReceipt writes a receipt, and its storage metadata, as one JSON object. It names its base,
// if it has one, as the row does.
const formerReceipt = `json_object('key', r.key, 'size', r.size, 'time', r.time, 'version_tag', r.version_tag, 'checksum', hex(r.checksum),
	'asset', r.asset, 'name', r.name, 'extension', r.extension, 'category', r.category, 'folder', r.folder, 'url', r.url, 'slot', r.slot,
	'adopted', r.adopted, 'metadata_pending', r.metadata_pending, 'modified', r.modified, 'run', r.run, 'done_at', r.done_at, 'images', r.images,
	'content_run', r.content_run, 'content_at', r.content_at,
	'base', r.base, 'content_type', r.content_type,
	'kept', (SELECT json_object('content_type', d.content_type, 'metadata', d.metadata, 'tags', d.tags)
		FROM descriptions d WHERE d.pair = r.pair AND d.key = r.key),
	'described', (SELECT m.metadata FROM described m WHERE m.pair = r.pair AND m.key = r.key),
	'found', (SELECT m.found FROM described m WHERE m.pair = r.pair AND m.key = r.key),
	'orphan', (SELECT json_object('since', o.since, 'runs', o.runs) FROM orphans o WHERE o.pair = r.pair AND o.key = r.key))`

// SaveFormer stores the previous state of assets that a plan will change. A stored state stays: the
// run may have changed the asset before it was planned again. Relist deletes the states of items
// that the run never began.
func (s *Store) SaveFormer(ctx context.Context, run, pair int64, all []Former) error {
	return s.Write(ctx, "save previous state of assets", func(ctx context.Context, tx *sql.Tx) error {
		insert, err := prepareFormer(ctx, tx, formerReceipt)
		if err != nil {
			return err
		}
		move, err := prepareFormer(ctx, tx, `json_set(`+formerReceipt+`, '$.names', `+formerNames+`)`)
		if err != nil {
			return err
		}
		for _, f := range all {
			insert := insert
			if f.Of != f.Key {
				insert = move
			}
			if _, err := insert.ExecContext(ctx, run, f.Key, string(f.Asset), pair, f.Of); err != nil {
				return fmt.Errorf("%s: %w", f.Key, err)
			}
		}
		return nil
	})
}

// FormerAsset returns the stored previous state of an item's asset, or nil if there is none.
func (s *Store) FormerAsset(ctx context.Context, run int64, key sources.Key) (asset json.RawMessage, err error) {
	const op = "find previous state of asset"
	err = s.r.row(ctx, op, `SELECT asset FROM former WHERE run = ? AND key = ?`, run, key).Scan((*[]byte)(&asset))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return asset, err
}

func prepareFormer(ctx context.Context, tx *sql.Tx, receipt string) (*sql.Stmt, error) {
	return tx.PrepareContext(ctx, `INSERT INTO former (run, key, receipt, asset)
		SELECT ?, ?, `+receipt+`, ? FROM receipts r WHERE r.pair = ? AND r.key = ? ON CONFLICT DO NOTHING`)
}

// holdFormer marks the stored states of chosen items, so that Relist keeps them: the run may have
// begun to change their assets.
func holdFormer(ctx context.Context, tx *sql.Tx, chosen string, args ...any) error {
	_, err := tx.ExecContext(ctx, `UPDATE former SET receipt = json_set(receipt, '$.begun', 1) WHERE `+chosen, args...)
	return err
}

// forgetFormer deletes the stored states of items that a run planned and never began: users may
// change those assets before its next plan. An item that was begun has an attempt, or is marked.
func forgetFormer(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM former WHERE run = ?1 AND receipt ->> '$.begun' IS NULL
		AND EXISTS (SELECT 1 FROM items WHERE items.run = ?1 AND items.key = former.key AND `+onRelist.condition()+`)
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run = ?1 AND a.key = former.key)`, run)
	return err
}

// formerColumns reads a receipt that is stored as JSON, as receiptColumns reads a row.
var formerColumns = receiptRead.join(func(c Column[receiptRow]) string {
	value := `receipt ->> '$.` + c.Name + `'`
	if c.Name == "checksum" {
		return `unhex(` + value + `)`
	}
	return value
})

// A before is the stored state of an item: its previous receipt and asset.
type before struct {
	Receipt
	of    sources.Key // key of the item
	asset json.RawMessage
}

func scanBefore(rows *sql.Rows) (b before, base sql.NullInt64, err error) {
	b.Receipt, base, err = scanReceiptAnd(rows, &b.of, (*[]byte)(&b.asset))
	return b, base, err
}

// ofUndone selects the stored states of the run that an undo, the parameter ?3, undoes.
const ofUndone = ` FROM former WHERE run = (SELECT undoes FROM runs WHERE num = ?3)`

// stillDeleted selects stored states whose object the run did not find under its key. An object
// that it found was not deleted, although the run before may have missed it.
const stillDeleted = `(key <> receipt ->> '$.key' OR EXISTS (SELECT 1 FROM items i WHERE i.run = former.run AND i.key = former.key AND i.action = 'trash'))`

// restoredContentAt is the time of restored content: ?4, the present, if the undone run had
// replaced or trashed it, so that no earlier verification counts.
const restoredContentAt = `CASE WHEN EXISTS (SELECT 1 FROM items i WHERE i.run = former.run AND i.key = former.key AND i.action IN ('replace', 'trash'))
	THEN ?4 ELSE receipt ->> '$.content_at' END`

// restoreFormer restores the stored receipts of some items with their storage metadata, and updates
// the sums. The items are those whose keys a query with one parameter, ?2, returns.
func restoreFormer(ctx context.Context, tx *sql.Tx, pair, undo int64, now time.Time, keys string, parameter any) (back ReceiptSum, err error) {
	from := ofUndone + ` AND key IN (` + keys + `)`
	rows, err := tx.QueryContext(ctx, `INSERT INTO receipts (pair, `+receiptRead.Names()+`, done_at, images, content_run, content_at) SELECT ?1, `+formerColumns+`,
		receipt ->> '$.done_at', receipt ->> '$.images', receipt ->> '$.content_run', `+restoredContentAt+from+` RETURNING size`, pair, parameter, undo, now.UnixMilli())
	if err != nil {
		return back, fmt.Errorf("restore upload records: %w", err)
	}
	sizes, err := scanAll(rows, func(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) })
	if err != nil || len(sizes) == 0 {
		return back, err
	}
	for _, size := range sizes {
		back = back.plus(ReceiptSum{1, size})
	}
	if err := undoRename(ctx, tx, pair, undo, keys, parameter); err != nil {
		return back, err
	}
	for _, insert := range []string{
		`INSERT INTO descriptions (pair, key, content_type, metadata, tags) SELECT ?1, receipt ->> '$.key', receipt ->> '$.kept' ->> '$.content_type',
			receipt ->> '$.kept' ->> '$.metadata', receipt ->> '$.kept' ->> '$.tags'` + from + ` AND receipt ->> '$.kept' IS NOT NULL`,
		`INSERT INTO described (pair, key, metadata, found) SELECT ?1, receipt ->> '$.key', receipt ->> '$.described', coalesce(receipt ->> '$.found', '{}')` + from + `
			AND receipt ->> '$.described' IS NOT NULL`,
		// The restored content is the current one again, and the undone run brought the revisions after it.
		`DELETE FROM revisions WHERE pair = ?1 AND num >= (SELECT min(v.num) FROM former f JOIN revisions v ON v.pair = ?1 AND v.asset = f.receipt ->> '$.asset'
			AND v.done_at = f.receipt ->> '$.done_at' WHERE f.run = (SELECT undoes FROM runs WHERE num = ?3) AND f.key IN (` + keys + `) AND v.asset = revisions.asset)`,
		`INSERT OR REPLACE INTO orphans (pair, key, since, runs) SELECT ?1, receipt ->> '$.key', receipt ->> '$.orphan' ->> '$.since',
			receipt ->> '$.orphan' ->> '$.runs'` + from + ` AND receipt ->> '$.orphan' IS NOT NULL AND ` + stillDeleted,
	} {
		if _, err := tx.ExecContext(ctx, insert, pair, parameter, undo); err != nil {
			return back, fmt.Errorf("restore storage metadata: %w", err)
		}
	}
	return back, nil
}
