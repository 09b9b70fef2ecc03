package redirect

import (
	"bufio"
	"strings"

	"assetferry/internal/oldurl"
)

// A sqlWriter writes statements that PostgreSQL, MySQL and SQLite read alike. They
// disagree about backslashes in texts, so there are none: oldurl.Clean encodes them.
type sqlWriter struct {
	w  *bufio.Writer
	in int // rows in the statement that is not ended yet
}

const sqlHead = `-- Old addresses and what stands for each of them now. Made by assetferry urls, for
-- PostgreSQL, MySQL and SQLite. Loading it twice adds every row twice: empty the table
-- first.
CREATE TABLE IF NOT EXISTS asset_urls (
  old_url  TEXT NOT NULL,
  new_url  TEXT NOT NULL,
  asset_id TEXT NOT NULL,
  verified SMALLINT NOT NULL
);
BEGIN;
`

// sqlBatch is how many rows one statement adds: large ones are refused.
const sqlBatch = 500

func newSQL(b *bufio.Writer) (*sqlWriter, error) {
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
