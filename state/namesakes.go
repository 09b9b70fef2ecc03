package state

import (
	"context"
	"database/sql"

	"assetferry/sources"
)

// Namesakes finds out which of some assets were in the place of an object, with its size,
// before a plan of the pair put its asset there, or were replaced by one with its name.
func (s *Store) Namesakes(ctx context.Context, pair int64, assets []string) (map[string]bool, error) {
	all, err := query(ctx, s.r, "look up namesakes", scanText,
		`SELECT asset FROM namesakes WHERE pair = ? AND asset IN `+List(len(assets)), listed(assets, pair)...)
	set := make(map[string]bool, len(all))
	for _, asset := range all {
		set[asset] = true
	}
	return set, err
}

// noteNamesakes keeps what the inventory of a plan has in the places of the objects that it
// puts there: what is seen beside them later on is known from then on.
func noteNamesakes(ctx context.Context, tx *sql.Tx, run int64) error {
	var seen bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM inventory WHERE scope = ?)`, run).Scan(&seen); err != nil || !seen {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO namesakes (pair, asset)
		SELECT r.pair, n.asset FROM runs r CROSS JOIN items i CROSS JOIN inventory n INDEXED BY inventory_slot
		WHERE r.num = ?1 AND i.run = ?1 AND i.state = 'planned' AND (i.action = 'create' OR i.action = 'adopt' OR i.action = 'move')
		AND n.scope = ?1 AND n.slot = i.slot AND n.size = i.size AND n.asset <> i.asset`, run)
	return err
}

// noteReplaced keeps the asset of a receipt that one with another asset replaces.
func (r *recorder) noteReplaced(ctx context.Context, key sources.Key) error {
	_, err := r.tx.ExecContext(ctx, `INSERT OR IGNORE INTO namesakes (pair, asset)
		SELECT pair, asset FROM receipts WHERE pair = ? AND key = ?`, r.pair, key)
	return err
}
