package state

import (
	"context"
	"database/sql"
)

// Resize stores the size and the version tag of an item that is being sent, whose content has another
// size than the source lists.
func (s *Store) Resize(ctx context.Context, run int64, i Item) error {
	return s.Write(ctx, "store size of content", func(ctx context.Context, tx *sql.Tx) error {
		return One(ctx, tx, `UPDATE items SET size = ?, version_tag = ? WHERE run = ? AND key = ? AND state = 'sending'`, i.Size, i.VersionTag, run, i.Key)
	})
}
