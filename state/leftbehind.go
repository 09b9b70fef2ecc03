package state

import (
	"context"
)

// LeftBehind counts the objects that did not come through in the runs of a pair from one
// on, and that no run since has brought. Later runs may not have looked at them.
func (s *Store) LeftBehind(ctx context.Context, pair, from int64) (n int64, err error) {
	err = s.r.row(ctx, "count what was left behind", `SELECT count(DISTINCT i.key) FROM runs r JOIN items i ON i.run = r.num
		WHERE r.pair = ?1 AND r.num >= ?2 AND r.command NOT IN ('plan', 'undo')
		AND i.state IN ('failed', 'parked', 'conflict', 'changed', 'waiting', 'in_doubt')
		AND NOT EXISTS (SELECT 1 FROM receipts t WHERE t.pair = ?1 AND t.key = i.key AND t.run >= i.run)`, pair, from).Scan(&n)
	return n, err
}
