package state

import (
	"context"
	"database/sql"
)

// A Purpose says what a destination is there for.
type Purpose string

// The purposes. It is not known of destinations that were last used by a version that did
// not ask.
const (
	PurposeUnknown Purpose = ""
	Rehearsal      Purpose = "rehearsal" // a sandbox
	Production     Purpose = "production"
)

// purposeColumn reads a purpose.
const purposeColumn = `CASE rehearsal WHEN 1 THEN 'rehearsal' WHEN 0 THEN 'production' ELSE '' END`

// SavePurpose notes what the destination of a pair is there for.
func (s *Store) SavePurpose(ctx context.Context, pair int64, purpose Purpose) error {
	return s.Write(ctx, "save purpose", func(ctx context.Context, tx *sql.Tx) error {
		known := sql.NullBool{Bool: purpose == Rehearsal, Valid: purpose != PurposeUnknown}
		return One(ctx, tx, `UPDATE pairs SET rehearsal = ? WHERE id = ?`, known, pair)
	})
}

// A DescriptionSum counts the objects that a run took over and of which something is
// kept: anything, a content type, metadata, tags.
type DescriptionSum struct{ Objects, ContentTypes, Metadata, Tags int64 }

// SumDescriptions counts what is kept of the objects that a run took over.
func (s *Store) SumDescriptions(ctx context.Context, run Run) (d DescriptionSum, err error) {
	err = s.r.row(ctx, "sum up descriptions", `SELECT count(*), coalesce(sum(content_type <> ''), 0), coalesce(sum(metadata <> '{}'), 0),
		coalesce(sum(tags <> '{}'), 0) FROM (
			SELECT d.content_type, d.metadata, d.tags FROM descriptions d JOIN receipts r ON r.pair = d.pair AND r.key = d.key
			WHERE d.pair = ?1 AND r.run = ?2
			UNION ALL SELECT b.content_type, '{}', '{}' FROM receipts r CROSS JOIN bases b ON b.id = r.base
			WHERE r.pair = ?1 AND r.run = ?2 AND b.content_type <> '')`, run.Pair.ID, run.Num).Scan(&d.Objects, &d.ContentTypes, &d.Metadata, &d.Tags)
	return d, err
}
