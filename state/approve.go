package state

import (
	"context"
	"database/sql"
)

// Approve notes who let a run carry out a plan, by the hash of that, and that it was
// now. It can be done once, before the run has listed anything.
func (s *Store) Approve(ctx context.Context, run int64, hash, by string) error {
	return s.write(ctx, "note approval", func(ctx context.Context, tx *sql.Tx) error {
		return one(ctx, tx, `UPDATE runs SET plan_hash = ?, approved_by = ?, approved_at = ?
			WHERE num = ? AND state = 'scanning' AND approved_at IS NULL`, hash, by, s.now().UnixMilli(), run)
	})
}
