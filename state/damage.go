package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors of disks and files.
var (
	ErrFull       = errors.New("no space left for the journal")
	ErrUnwritable = errors.New("the journal cannot be written")
	ErrDamaged    = errors.New("the journal is damaged")
	ErrDisk       = errors.New("the disk of the journal does not do what it is told")

	// ErrEmptied is an ErrDamaged: something cut the file to nothing.
	ErrEmptied = fmt.Errorf("%w: it was cut to 0 bytes", ErrDamaged)
)

// quickCheckLimit is the size from which a journal is not read as a whole just to
// open it: that would take more than a second.
const quickCheckLimit = 256 << 20

// A DiskError is trouble with the file of the journal. It is one of ErrFull,
// ErrUnwritable, ErrDamaged, ErrEmptied and ErrDisk, if it is known to be.
type DiskError struct {
	Kind error // one of the five
	Err  error
}

func (e *DiskError) Error() string { return fmt.Sprintf("%v: %v", e.Kind, e.Err) }

func (e *DiskError) Unwrap() []error { return []error{e.Kind, e.Err} }

// Hint is the next step.
func (e *DiskError) Hint() string {
	switch e.Kind {
	case ErrFull:
		return "make space on that disk, then run the same command again: nothing is lost, and what was in flight is looked up"
	case ErrUnwritable:
		return "let this user write the file and its folder, or name another place with --state"
	case ErrEmptied:
		return "restore the backup, as assetferry help journal tells. Without one, delete the empty file: a new journal is made, and what is at the destination already is found there and not sent again"
	case ErrDisk:
		return "look into the system's log for errors of that disk or share; when it works, run the same command again: nothing is lost, and what was in flight is looked up"
	}
	if errors.Is(e.Err, errOtherPages) || errors.Is(e.Err, errBadSums) {
		return "if you put the backup in its place, or opened it with another program: assetferry state takeover; if not, assetferry help journal tells how to restore the backup; the file was left as it is"
	}
	return "assetferry help journal tells how to restore the backup; the file was left as it is"
}

// classify says what kind of trouble an error of the driver or the file system is,
// where a person can do something about it.
func classify(err error) error {
	if kind := kindOf(err); kind != nil {
		return &DiskError{kind, err}
	}
	return err
}

func kindOf(err error) error {
	if _, known := errors.AsType[*DiskError](err); known {
		return nil
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return ErrFull
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return ErrUnwritable
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return ErrDamaged
		case sqlite3.SQLITE_IOERR:
			return ErrDisk
		}
		return nil
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrUnwritable
	case errors.Is(err, syscall.EIO):
		return ErrDisk
	}
	return nil
}

// diskError is an error of the file system on the way to a journal.
func diskError(path string, err error) error {
	return fmt.Errorf("open journal %s: %w", path, classify(err))
}

// quickCheck reads the journal to see whether it is whole, unless it is large.
func (s *Store) quickCheck(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil || info.Size() > quickCheckLimit {
		return err
	}
	problems, err := pragmaCheck(ctx, reader{DB: s.w, hook: s.hook}, `PRAGMA quick_check(1)`)
	if err != nil {
		return wrap("check", err)
	}
	if len(problems) > 0 {
		return wrap("check", &DiskError{ErrDamaged, errors.New(problems[0])})
	}
	return nil
}

// pragmaCheck runs one of SQLite's own checks, which answer "ok" or what is wrong, in
// rows of one or several lines.
func pragmaCheck(ctx context.Context, r reader, pragma string) (problems []string, err error) {
	rows, err := query(ctx, r, "check", func(rows *sql.Rows) (row string, err error) {
		return row, rows.Scan(&row)
	}, pragma)
	for _, row := range rows {
		for line := range strings.Lines(row) {
			if line = strings.TrimSpace(line); line != "ok" && !strings.HasPrefix(line, "***") { // a heading
				problems = append(problems, line)
			}
		}
	}
	return problems, err
}

// openReading opens a journal for reading. Readers share a file that they make beside
// it; where that cannot be, a journal that is at rest can be read all the same.
func openReading(ctx context.Context, path string, connections int) (*sql.DB, error) {
	db, err := connect(path, reading, connections)
	if err != nil {
		return nil, err
	}
	var version int
	err = db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version)
	if kindOf(err) != ErrUnwritable || hasLog(path) {
		return db, nil // whatever else is wrong is for the first who needs it to tell
	}
	if err := db.Close(); err != nil {
		return nil, diskError(path, err)
	}
	return connect(path, immutable, connections)
}

// hasLog reports whether there is a write-ahead log beside a journal with anything
// in it.
func hasLog(path string) bool {
	info, err := os.Stat(path + walSuffix)
	return err == nil && info.Size() > 0
}
