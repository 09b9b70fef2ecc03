package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// A Former is an asset as it was before a run that is about to change it: what a later
// undo goes back to. Its receipt the journal keeps by itself.
type Former struct {
	Key   string          // of the item
	Of    string          // key of the receipt: the same, but for what is moved
	Asset json.RawMessage // an object: what people can change of the asset
}

// formerReceipt writes a receipt, and what is kept with it, as one object of JSON. It names
// its base, if it has one, as the row does.
const formerReceipt = `json_object('key', r.key, 'size', r.size, 'time', r.time, 'version_tag', r.version_tag, 'digest', hex(r.digest),
	'asset', r.asset, 'name', r.name, 'extension', r.extension, 'category', r.category, 'folder', r.folder, 'url', r.url, 'slot', r.slot,
	'adopted', r.adopted, 'undescribed', r.undescribed, 'modified', r.modified, 'run', r.run, 'done_at', r.done_at, 'images', r.images,
	'base', r.base,
	'kept', (SELECT json_object('content_type', d.content_type, 'metadata', d.metadata, 'tags', d.tags)
		FROM descriptions d WHERE d.pair = r.pair AND d.key = r.key),
	'described', (SELECT m.metadata FROM described m WHERE m.pair = r.pair AND m.key = r.key))`

// SaveFormer keeps what items of a plan are about to change. What is kept of an item
// already stays: a plan that is made anew finds what the first one may have begun.
func (s *Store) SaveFormer(ctx context.Context, run, pair int64, all []Former) error {
	return s.write(ctx, "keep what was before", func(ctx context.Context, tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, `INSERT INTO former (run, key, receipt, asset)
			SELECT ?, ?, `+formerReceipt+`, ? FROM receipts r WHERE r.pair = ? AND r.key = ? ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		for _, f := range all {
			if _, err := insert.ExecContext(ctx, run, f.Key, string(f.Asset), pair, f.Of); err != nil {
				return fmt.Errorf("%s: %w", f.Key, err)
			}
		}
		return nil
	})
}
