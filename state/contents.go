package state

import (
	"context"
	"database/sql"
	"iter"

	"assetferry/sources"
)

// A Content is the content of an object that may be identical to another one. Its checksum covers
// the part that was read.
type Content struct {
	Key      sources.Key
	Size     int64
	Checksum []byte
}

// An IdenticalGroup is a group of objects with identical content. It names two of them.
type IdenticalGroup struct {
	First, Last sources.Key
	Objects     int64
	Size        int64 // of each
}

// IdenticalSum sums up groups of identical content.
type IdenticalSum struct {
	Groups int64
	Spare  int64 // bytes of all but one object of each group
	Some   []IdenticalGroup
}

// plannedUploads selects the items of a run whose content would be uploaded.
const plannedUploads = `run = ?1 AND action = 'create' AND state = 'planned' AND size > 0`

// StageContents stages the planned uploads of a run that share their size with others, and counts
// them. It replaces earlier contents.
func (s *Store) StageContents(ctx context.Context, run int64) (n int64, err error) {
	err = s.Write(ctx, "stage contents", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM contents`); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO contents (run, key, size) SELECT run, key, size FROM items WHERE `+plannedUploads+`
			AND size IN (SELECT size FROM items WHERE `+plannedUploads+` GROUP BY size HAVING count(*) > 1)`, run)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}

// Contents lists the staged contents of a run, in key order.
func (s *Store) Contents(ctx context.Context, run int64) iter.Seq2[Content, error] {
	return paged(s.r, "", func(c Content) sources.Key { return c.Key }, func(after sources.Key) ([]Content, error) {
		return query(ctx, s.r, "list contents", func(rows *sql.Rows) (c Content, err error) {
			return c, rows.Scan((*string)(&c.Key), &c.Size, &c.Checksum)
		}, `SELECT key, size, checksum FROM contents WHERE run = ? AND key > ? ORDER BY key LIMIT ?`, run, after, PageSize)
	})
}

// SaveChecksums stores the checksums of contents; nil for unreadable ones.
func (s *Store) SaveChecksums(ctx context.Context, run int64, all []Content) error {
	return s.Write(ctx, "save checksums", func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range all {
			if _, err := tx.ExecContext(ctx, `UPDATE contents SET checksum = ? WHERE run = ? AND key = ?`, c.Checksum, run, c.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

// KeepIdentical deletes the contents whose size and checksum occur only once.
func (s *Store) KeepIdentical(ctx context.Context, run int64) error {
	return s.Write(ctx, "compare contents", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM contents WHERE run = ?1 AND key NOT IN (SELECT key FROM (
			SELECT key, count(*) OVER (PARTITION BY size, checksum) AS n FROM contents WHERE run = ?1 AND checksum IS NOT NULL) WHERE n > 1)`, run)
		return err
	})
}

// DropContents forgets all contents.
func (s *Store) DropContents(ctx context.Context) error {
	return s.Write(ctx, "drop contents", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM contents`)
		return err
	})
}

// IdenticalContents sums up the identical contents of a run, and returns the groups that take most
// space, at most some.
func (s *Store) IdenticalContents(ctx context.Context, run int64, some int) (IdenticalSum, error) {
	return s.sumIdentical(ctx, run, some, `SELECT key, size, checksum AS mark FROM contents WHERE run = ?1 AND checksum IS NOT NULL`, `TRUE`)
}

// IdenticalTags is the same for version tags that are checksums of the content: those of 32
// hexadecimal digits.
func (s *Store) IdenticalTags(ctx context.Context, run int64, some int) (IdenticalSum, error) {
	return s.sumIdentical(ctx, run, some, `SELECT key, size, version_tag AS mark FROM items WHERE `+plannedUploads+`
		AND length(version_tag) = 32`, `mark NOT GLOB '*[^0-9a-fA-F]*'`)
}

// sumIdentical sums up rows of key, size and mark whose marks are comparable; that condition is
// evaluated only for repeated marks. The rows are sorted once, which dominates the time for a large
// plan.
func (s *Store) sumIdentical(ctx context.Context, run int64, some int, rows, comparable string) (e IdenticalSum, err error) {
	e.Some, err = query(ctx, s.r, "list identical contents", func(rows *sql.Rows) (g IdenticalGroup, err error) {
		return g, rows.Scan(&g.First, &g.Last, &g.Objects, &g.Size, &e.Groups, &e.Spare)
	}, `SELECT first, last, n, size, count(*) OVER (), sum((n - 1) * size) OVER () FROM (
		SELECT min(key) AS first, max(key) AS last, count(*) AS n, size FROM (`+rows+`)
			GROUP BY size, mark HAVING count(*) > 1 AND `+comparable+`)
		ORDER BY (n - 1) * size DESC, first LIMIT ?2`, run, some)
	return e, err
}
