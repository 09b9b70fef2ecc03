package state

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"

	"assetferry/state/disk"
)

// quickCheckLimit is the size from which a journal is not read as a whole just to
// open it: that would take more than a second.
const quickCheckLimit = 256 << 20

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
		return wrap("check", &disk.Error{Kind: disk.ErrDamaged, Err: errors.New(problems[0])})
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
	if disk.KindOf(err) != disk.ErrUnwritable || hasLog(path) {
		return db, nil // whatever else is wrong is for the first who needs it to tell
	}
	if err := db.Close(); err != nil {
		return nil, disk.OpenError(path, err)
	}
	return connect(path, immutable, connections)
}

// hasLog reports whether there is a write-ahead log beside a journal with anything
// in it.
func hasLog(path string) bool {
	info, err := os.Stat(path + disk.WALSuffix)
	return err == nil && info.Size() > 0
}
