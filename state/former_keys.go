package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"assetferry/internal/oldurl"
	"assetferry/sources"
)

// Former keys and old URLs identify objects for ever: after an asset is trashed, after runs are
// pruned, and when another object gets such a key. The current object of a key takes precedence,
// and a hidden row counts again when that object is deleted. A row whose owner has no receipt has
// no effect until there is one.

// rename records that an object has another key: all its previous keys become former keys of the
// new one.
func (r *recorder) rename(ctx context.Context, from, to sources.Key) error {
	for _, statement := range []string{
		`UPDATE former_keys SET owner = ?3 WHERE pair = ?1 AND owner = ?2`,
		`DELETE FROM former_keys WHERE pair = ?1 AND key = ?3 AND owner = ?3`, // it is back at a key that it had
		`INSERT OR REPLACE INTO former_keys (pair, key, owner) VALUES (?1, ?2, ?3)`,
		`DELETE FROM aliases WHERE pair = ?1 AND key = ?3`, // which has the asset itself now
		`UPDATE aliases SET owner = ?3 WHERE pair = ?1 AND owner = ?2`,
		`UPDATE OR REPLACE old_urls SET key = ?3 WHERE pair = ?1 AND key = ?2`,
	} {
		if _, err := r.tx.ExecContext(ctx, statement, r.pair, from, to); err != nil {
			return fmt.Errorf("save former key: %w", err)
		}
	}
	return nil
}

// formerNames writes the former keys and old URLs of an object, which are stored with the receipt
// of a planned move.
const formerNames = `json_object(
	'keys', json((SELECT json_group_array(k.key) FROM former_keys k WHERE k.pair = r.pair AND k.owner = r.key)),
	'owner', (SELECT k.owner FROM former_keys k WHERE k.pair = r.pair AND k.key = r.key),
	'aliases', json((SELECT json_group_array(a.key) FROM aliases a WHERE a.pair = r.pair AND a.owner = r.key)),
	'given', json((SELECT json_group_array(g.url) FROM old_urls g WHERE g.pair = r.pair AND g.key = r.key)))`

// undoRename reverts rename for items of a run that is undone. Their keys come from a query with
// one parameter, ?2. Changes of the same keys by later runs stay.
func undoRename(ctx context.Context, tx *sql.Tx, pair, undo int64, keys string, parameter any) error {
	type names struct {
		Keys, Aliases []sources.Key
		Given         []string
		Owner         *sources.Key
		from, to      sources.Key
	}
	rows, err := tx.QueryContext(ctx, `SELECT receipt ->> '$.key', key, receipt ->> '$.names'`+ofUndone+` AND key IN (`+keys+`) AND receipt ->> '$.names' IS NOT NULL`, pair, parameter, undo)
	if err != nil {
		return fmt.Errorf("read former keys: %w", err)
	}
	moved, err := scanAll(rows, func(rows *sql.Rows) (n names, err error) {
		var text []byte
		err = rows.Scan(&n.from, &n.to, &text)
		return n, errors.Join(err, json.Unmarshal(text, &n))
	})
	if err != nil {
		return fmt.Errorf("read former keys: %w", err)
	}
	for _, n := range moved {
		back := renaming{tx, pair, n.from, n.to}
		if err := errors.Join(
			restoreEach(ctx, back, `DELETE FROM former_keys WHERE pair = ?1 AND key = ?4 AND owner = ?3`, n.from),
			restoreEach(ctx, back, `UPDATE former_keys SET owner = ?2 WHERE pair = ?1 AND owner = ?3 AND key = ?4`, n.Keys...),
			restoreEach(ctx, back, `UPDATE aliases SET owner = ?2 WHERE pair = ?1 AND owner = ?3 AND key = ?4`, n.Aliases...),
			restoreEach(ctx, back, `UPDATE OR REPLACE old_urls SET key = ?2 WHERE pair = ?1 AND key = ?3 AND url = ?4`, n.Given...),
		); err != nil {
			return err
		}
		for _, key := range n.Keys {
			if key == n.to { // which it went by before, and lost as a former one
				err = restoreEach(ctx, back, `INSERT OR IGNORE INTO former_keys (pair, key, owner) VALUES (?1, ?4, ?2)`, key)
			}
		}
		if err == nil && n.Owner != nil {
			err = restoreEach(ctx, back, `INSERT OR IGNORE INTO former_keys (pair, key, owner) VALUES (?1, ?2, ?4)`, *n.Owner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A renaming restores the previous key of an object.
type renaming struct {
	tx       *sql.Tx
	pair     int64
	from, to sources.Key // before the run, and by it
}

// restoreEach executes a statement for each of some keys or URLs, which are ?4.
func restoreEach[T ~string](ctx context.Context, r renaming, statement string, each ...T) error {
	for _, one := range each {
		if _, err := r.tx.ExecContext(ctx, statement, r.pair, r.from, r.to, one); err != nil {
			return fmt.Errorf("restore former keys: %w", err)
		}
	}
	return nil
}

// saveOldURLs stores the old URLs of an object, without texts that are no web URLs.
func (r *recorder) saveOldURLs(ctx context.Context, o Outcome) error {
	if o.State != ItemDone {
		return nil
	}
	for _, url := range o.AssetURLs {
		comparable := oldurl.Comparable(url)
		if comparable == "" {
			continue
		}
		if _, err := r.tx.ExecContext(ctx, `INSERT OR IGNORE INTO old_urls (pair, key, url, comparable) VALUES (?, ?, ?, ?)`,
			r.pair, o.Key, oldurl.Presentable(url), comparable); err != nil {
			return fmt.Errorf("save old URL: %w", err)
		}
	}
	return nil
}

// FormerKeys lists the former keys of an object, in key order.
func (s *Store) FormerKeys(ctx context.Context, pair int64, owner sources.Key) ([]sources.Key, error) {
	return query(ctx, s.r, "list former keys", scanKey, `SELECT key FROM former_keys WHERE pair = ? AND owner = ? ORDER BY key`, pair, owner)
}

// Aliases lists the keys of objects that share the asset of another one, in key order.
func (s *Store) Aliases(ctx context.Context, pair int64, owner sources.Key) ([]sources.Key, error) {
	return query(ctx, s.r, "list aliases", scanKey, `SELECT a.key`+ofLiving+`WHERE a.pair = ? AND a.owner = ? ORDER BY a.key`, pair, owner)
}

// OldURLs lists the old URLs of an object, by its source.
func (s *Store) OldURLs(ctx context.Context, pair int64, key sources.Key) ([]string, error) {
	return query(ctx, s.r, "list old URLs", scanText, `SELECT url FROM old_urls WHERE pair = ? AND key = ? ORDER BY url`, pair, key)
}
