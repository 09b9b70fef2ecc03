package state

import (
	"context"
	"database/sql"
)

// An Approver is who approved what a run does. Key is the fingerprint of the key that signed
// the approval. Without one the name is no more than a statement of the account in StatedBy.
type Approver struct {
	Name, StatedBy, Key string
}

// SetApprovedPlan notes the hash of the plan that a run carries out. It can be done once,
// before the run has listed anything.
func (s *Store) SetApprovedPlan(ctx context.Context, run int64, hash string) error {
	return s.Write(ctx, "note approved plan", func(ctx context.Context, tx *sql.Tx) error {
		return One(ctx, tx, `UPDATE runs SET plan_hash = ? WHERE num = ? AND state = 'scanning' AND plan_hash = ''`, hash, run)
	})
}

// Approve notes who approved what a run does, and that it was now. The first approver stays,
// but a signature replaces a statement. It reports whether the approver was noted.
func (s *Store) Approve(ctx context.Context, run int64, by Approver) (noted bool, err error) {
	err = s.Write(ctx, "note approval", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE runs SET approved_by = ?, approval_stated_by = ?, approval_key = ?, approved_at = ?
			WHERE num = ? AND (approved_at IS NULL OR approval_key = '' AND ? <> '')`,
			by.Name, by.StatedBy, by.Key, s.now().UnixMilli(), run, by.Key)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		noted = n == 1
		return err
	})
	return noted, err
}
