package redirect

import (
	"bufio"
	"strings"

	"assetferry/internal/oldurl"
)

// A sqlWriter writes statements for PostgreSQL, MySQL and SQLite. These read backslashes in texts
// differently, so oldurl.Clean encodes all of them.
type sqlWriter struct {
	w  *bufio.Writer
	in int // rows in the open statement
}

const sqlHead = `-- Old URLs and their new URLs for PostgreSQL, MySQL and SQLite, made by assetferry urls.
-- Empty the table before you load this file again: each load adds every row.
CREATE TABLE IF NOT EXISTS asset_urls (
  old_url  TEXT NOT NULL,
  new_url  TEXT NOT NULL,
  asset_id TEXT NOT NULL,
  verified SMALLINT NOT NULL
);
BEGIN;
`

// sqlBatch is the number of rows per statement, because databases refuse large ones.
const sqlBatch = 500

func newSQL(b *bufio.Writer, _ *PathSummary) (Writer, error) {
	_, err := b.WriteString(sqlHead)
	return &sqlWriter{w: b}, err
}

func (s *sqlWriter) Write(r Row) error {
	before := ",\n"
	if s.in == 0 {
		before = "INSERT INTO asset_urls (old_url, new_url, asset_id, verified) VALUES\n"
	}
	verified := ", 0)"
	if r.Verified {
		verified = ", 1)"
	}
	_, err := s.w.WriteString(before + "  (" + sqlText(r.Old) + ", " + sqlText(r.New) + ", " + sqlText(r.AssetID) + verified)
	if s.in++; err == nil && s.in == sqlBatch {
		return s.endStatement()
	}
	return err
}

func sqlText(s string) string { return "'" + strings.ReplaceAll(oldurl.Clean(s), "'", "''") + "'" }

func (s *sqlWriter) endStatement() error {
	if s.in == 0 {
		return nil
	}
	s.in = 0
	_, err := s.w.WriteString(";\n")
	return err
}

func (s *sqlWriter) Close() error {
	if err := s.endStatement(); err != nil {
		return err
	}
	if _, err := s.w.WriteString("COMMIT;\n"); err != nil {
		return err
	}
	return s.w.Flush()
}
