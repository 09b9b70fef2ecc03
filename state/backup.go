package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assetferry/internal/faultpoint"
)

// BackupPath is where the backup of a journal is.
func BackupPath(journal string) string {
	if file, err := resolve(journal); err == nil {
		journal = file
	}
	return journal + ".backup"
}

func backupDraft(journal string) string { return BackupPath(journal) + draftSuffix }

// Backup writes a copy of the journal beside it, which takes the place of a former
// one at once or not at all. A copy that is as new as the journal stays.
//
// The copy does not say what the destinations hold: by the time it is needed, more
// may be there.
func (s *Store) Backup(ctx context.Context) (path string, err error) {
	path = BackupPath(s.path)
	if s.isBackedUp(ctx, path) {
		return path, nil
	}
	draft := backupDraft(s.path)
	if err := removeDraft(draft); err != nil {
		return "", fmt.Errorf("back up journal: %w", classify(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeDraft(draft))
		}
	}()
	if err := makeFile(draft); err != nil { // or SQLite would let others read it
		return "", fmt.Errorf("back up journal: %w", classify(err))
	}
	if _, err := s.w.ExecContext(ctx, `VACUUM INTO ?`, draft); err != nil {
		return "", fmt.Errorf("back up journal to %s: %w", draft, classify(err))
	}
	if err := prepareBackup(ctx, draft); err != nil {
		return "", fmt.Errorf("back up journal to %s: %w", draft, classify(err))
	}
	if err := replace(draft, path); err != nil {
		return "", fmt.Errorf("back up journal: %w", classify(err))
	}
	faultpoint.Hit(faultpoint.BackedUp)
	return path, nil
}

// isBackedUp reports whether nothing was written since a backup.
func (s *Store) isBackedUp(ctx context.Context, path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	copied, err := connect(path, immutable, 1)
	if err != nil {
		return false
	}
	defer copied.Close()
	theirs, err1 := readHeld(ctx, copied)
	ours, err2 := readHeld(ctx, s.r.DB)
	return err1 == nil && err2 == nil && theirs.journal == ours.journal && theirs.seq == ours.seq
}

// prepareBackup makes a copy of a journal one that nobody owns and that does not
// rely on what it knows of the destinations.
func prepareBackup(ctx context.Context, draft string) (err error) {
	db, err := connect(draft, drafting, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return runScript(ctx, db, `DELETE FROM ours; UPDATE owner SET epoch = ''`)
}

// replace puts a file that is on the disk in the place of another.
func replace(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

func removeDraft(draft string) error {
	for _, f := range []string{draft, draft + "-journal"} {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Compact rewrites the journal so that it takes no more space than it needs, and
// gives its size before and after.
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

// size is what the journal takes on the disk, its latest writes included.
func (s *Store) size(ctx context.Context) (n int64, err error) {
	var pages, pageSize sql.NullInt64
	err = s.w.QueryRowContext(ctx, `SELECT c.page_count, s.page_size FROM pragma_page_count c, pragma_page_size s`).Scan(&pages, &pageSize)
	return pages.Int64 * pageSize.Int64, wrap("measure", err)
}
