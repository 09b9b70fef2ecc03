package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"assetferry/internal/faultpoint"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// Backup writes a copy of the state database next to it and replaces a former copy atomically. A
// copy that is up to date stays.
//
// The copy has no inventory of the destinations: by the time it is needed, that may be out of date.
func (s *Store) Backup(ctx context.Context) (path string, err error) {
	path = disk.BackupPath(s.path)
	if s.isBackedUp(ctx, path) {
		return path, nil
	}
	draft := disk.BackupDraft(s.path)
	if err := removeDraft(draft); err != nil {
		return "", fmt.Errorf("back up state database: %w", disk.Classify(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeDraft(draft))
		}
	}()
	if err := disk.MakeFile(draft); err != nil { // or SQLite would let others read it
		return "", fmt.Errorf("back up state database: %w", disk.Classify(err))
	}
	if _, err := s.w.ExecContext(ctx, `VACUUM INTO ?`, draft); err != nil {
		return "", fmt.Errorf("back up state database to %s: %w", draft, disk.Classify(err))
	}
	if err := prepareBackup(ctx, draft); err != nil {
		return "", fmt.Errorf("back up state database to %s: %w", draft, disk.Classify(err))
	}
	if err := disk.Replace(draft, path); err != nil {
		return "", fmt.Errorf("back up state database: %w", disk.Classify(err))
	}
	faultpoint.Hit(faultpoint.BackedUp)
	return path, nil
}

// CopyTo writes a copy of the state database to a new file. The next writer must use Takeover
// first.
func (s *Store) CopyTo(ctx context.Context, path string) error {
	if err := disk.MakeFile(path); err != nil { // or SQLite would let others read it
		return disk.Classify(err)
	}
	if _, err := s.r.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		return disk.Classify(err)
	}
	return prepareBackup(ctx, path)
}

// isBackedUp reports whether the state database is unchanged since the backup at path.
func (s *Store) isBackedUp(ctx context.Context, path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	copied, err := connect(path, immutable, 1)
	if err != nil {
		return false
	}
	defer copied.Close()
	theirs, err1 := ownership.Read(ctx, copied)
	ours, err2 := ownership.Read(ctx, s.r.DB)
	return err1 == nil && err2 == nil && theirs.StateID == ours.StateID && theirs.Seq == ours.Seq
}

// prepareBackup removes the owner and the records about destinations from a copy.
func prepareBackup(ctx context.Context, draft string) (err error) {
	db, err := connect(draft, drafting, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return runScript(ctx, db, `DELETE FROM ours; UPDATE owner SET epoch = ''`)
}

func removeDraft(draft string) error {
	for _, f := range []string{draft, draft + "-journal"} {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Compact rewrites the state database without unused space, and returns its size in bytes before
// and after.
func (s *Store) Compact(ctx context.Context) (before, after int64, err error) {
	if before, err = s.size(ctx); err != nil {
		return 0, 0, err
	}
	if _, err := s.w.ExecContext(ctx, `VACUUM`); err != nil {
		return 0, 0, wrap("compact", err)
	}
	if err := s.checkpoint(ctx); err != nil {
		return 0, 0, wrap("compact", err)
	}
	after, err = s.size(ctx)
	return before, after, err
}

// size returns the bytes that the state database uses on the disk, with its latest writes.
func (s *Store) size(ctx context.Context) (n int64, err error) {
	var pages, pageSize sql.NullInt64
	err = s.w.QueryRowContext(ctx, `SELECT c.page_count, s.page_size FROM pragma_page_count c, pragma_page_size s`).Scan(&pages, &pageSize)
	return pages.Int64 * pageSize.Int64, wrap("measure", err)
}
