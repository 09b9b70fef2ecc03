package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"assetferry/sources"
)

// A Description is what was kept with an object at its source.
type Description struct {
	ContentType string
	Metadata    map[string]string
	Tags        map[string]string
}

// IsZero reports whether there is nothing to keep.
func (d Description) IsZero() bool {
	return d.ContentType == "" && len(d.Metadata) == 0 && len(d.Tags) == 0
}

// isOnlyType reports whether there is a type of the content and nothing else.
func (d *Description) isOnlyType() bool {
	return d != nil && d.ContentType != "" && len(d.Metadata) == 0 && len(d.Tags) == 0
}

const descriptionQuery = `SELECT content_type, metadata, tags FROM descriptions WHERE pair = ?1 AND key = ?2
	UNION ALL SELECT b.content_type, '{}', '{}' FROM receipts r CROSS JOIN bases b ON b.id = r.base
	WHERE r.pair = ?1 AND r.key = ?2 AND b.content_type <> ''`

// Description finds what is kept of an object that has a receipt; ErrNotFound if that
// is nothing.
func (s *Store) Description(ctx context.Context, pair int64, key sources.Key) (Description, error) {
	all, err := query(ctx, s.r, "find description", scanDescription, descriptionQuery, pair, key)
	return First(all, err, "description of "+string(key))
}

// descriptionOf is Description within a transaction; nil if nothing is kept.
func descriptionOf(ctx context.Context, tx *sql.Tx, pair int64, key sources.Key) (*Description, error) {
	rows, err := tx.QueryContext(ctx, descriptionQuery, pair, key)
	if err != nil {
		return nil, err
	}
	all, err := scanAll(rows, scanDescription)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func scanDescription(rows *sql.Rows) (d Description, err error) {
	var metadata, tags []byte
	if err := rows.Scan(&d.ContentType, &metadata, &tags); err != nil {
		return d, err
	}
	if err := json.Unmarshal(metadata, &d.Metadata); err != nil {
		return d, fmt.Errorf("metadata: %w", err)
	}
	if err := json.Unmarshal(tags, &d.Tags); err != nil {
		return d, fmt.Errorf("tags: %w", err)
	}
	return d, nil
}

// describe stores what is kept with the object of a receipt. Most sources have
// nothing, so the statement is only prepared when it is needed.
func (r *recorder) updateMetadata(ctx context.Context, key sources.Key, d *Description) (err error) {
	if d == nil || d.IsZero() {
		return nil
	}
	if r.description == nil {
		if r.description, err = r.tx.PrepareContext(ctx, `INSERT INTO descriptions (pair, key, content_type, metadata, tags)
			VALUES (?, ?, ?, ?, ?)`); err != nil {
			return err
		}
	}
	metadata, err := object(d.Metadata)
	if err != nil {
		return err
	}
	tags, err := object(d.Tags)
	if err != nil {
		return err
	}
	if _, err := r.description.ExecContext(ctx, r.pair, key, d.ContentType, metadata, tags); err != nil {
		return fmt.Errorf("save source metadata: %w", err)
	}
	return nil
}

// object writes a map as a JSON object, also where there is none.
func object(m map[string]string) (string, error) {
	if len(m) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(m)
	return string(text), err
}

// A DescriptionSum counts the objects that a run adopted and of which something is
// kept: anything, a content type, metadata, tags.
type DescriptionSum struct{ Objects, ContentTypes, Metadata, Tags int64 }

// SumDescriptions counts what is kept of the objects that a run adopted.
func (s *Store) SumDescriptions(ctx context.Context, run Run) (d DescriptionSum, err error) {
	err = s.r.row(ctx, "count source metadata", `SELECT count(*), coalesce(sum(content_type <> ''), 0), coalesce(sum(metadata <> '{}'), 0),
		coalesce(sum(tags <> '{}'), 0) FROM (
			SELECT d.content_type, d.metadata, d.tags FROM descriptions d JOIN receipts r ON r.pair = d.pair AND r.key = d.key
			WHERE d.pair = ?1 AND r.run = ?2
			UNION ALL SELECT b.content_type, '{}', '{}' FROM receipts r CROSS JOIN bases b ON b.id = r.base
			WHERE r.pair = ?1 AND r.run = ?2 AND b.content_type <> '')`, run.Pair.ID, run.Num).Scan(&d.Objects, &d.ContentTypes, &d.Metadata, &d.Tags)
	return d, err
}

// A Described is what the source said of an object when its asset was described last.
type Described struct {
	Key      sources.Key
	Metadata string // an object of JSON, empty if nothing was said
	Table    string // what the table of the user said, as it is in Found; empty if nothing
	Found    string // all that was found, an object of JSON by metadata_source; empty if nothing was
	OldURLs  string // of Found, the old URLs that a sidecar or the source gives; empty if there are none
}

// Described lists the metadata of the objects of a pair in key order, those with keys after the
// given one. It reads only the found metadata of the table, and old URLs.
func (s *Store) Described(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Described, error] {
	return paged(s.r, after, func(d Described) sources.Key { return d.Key }, func(after sources.Key) ([]Described, error) {
		return query(ctx, s.r, "list metadata", func(rows *sql.Rows) (d Described, err error) {
			err = rows.Scan(&d.Key, &d.Metadata, &d.Table, &d.OldURLs)
			return d.orEmpty(), err
		}, `SELECT key, metadata, coalesce(found -> '$.table', ''), `+oldURLsColumn+` FROM described WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// oldURLsColumn are the old URLs that a sidecar or the source gives, as they are in
// what was found.
const oldURLsColumn = `CASE WHEN coalesce(found -> '$.sidecar.address', found -> '$.source.address') IS NULL THEN '' ELSE json_object(
	'sidecar', json_object('address', coalesce(found -> '$.sidecar.address', json('[]'))),
	'source', json_object('address', coalesce(found -> '$.source.address', json('[]')))) END`

// DescribedAs is what the source said of an object when its asset was described last;
// nothing if no user has described it.
func (s *Store) DescribedAs(ctx context.Context, pair int64, key sources.Key) (d Described, err error) {
	const op = "find metadata"
	err = s.r.row(ctx, op, `SELECT key, metadata, coalesce(found -> '$.table', ''), found FROM described WHERE pair = ? AND key = ?`, pair, key).
		Scan(&d.Key, &d.Metadata, &d.Table, &d.Found)
	if errors.Is(err, sql.ErrNoRows) {
		return d, nil
	}
	return d.orEmpty(), err
}

// nothing is what the columns have where nothing was said or found.
const nothing = `{}`

func (d Described) orEmpty() Described {
	if d.Metadata == nothing {
		d.Metadata = ""
	}
	if d.Found == nothing {
		d.Found = ""
	}
	return d
}

// FoundTwice lists the objects of which several metadata sources said something, in key order, with
// all that was found.
func (s *Store) FoundTwice(ctx context.Context, pair int64) iter.Seq2[Described, error] {
	return paged(s.r, "", func(d Described) sources.Key { return d.Key }, func(after sources.Key) ([]Described, error) {
		return query(ctx, s.r, "list found metadata", func(rows *sql.Rows) (d Described, err error) {
			return d, rows.Scan(&d.Key, &d.Metadata, &d.Found)
		}, `SELECT key, metadata, found FROM described WHERE pair = ? AND key > ?
			AND (SELECT count(*) FROM json_each(found)) > 1 ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// note keeps what the source said of an object that is described now. Most runs describe
// nothing, so the statement is only prepared when it is needed.
func (r *recorder) note(ctx context.Context, o Outcome) (err error) {
	if o.Described == "" && o.Found == "" || o.State != ItemDone {
		return nil
	}
	if r.described == nil {
		if r.described, err = r.tx.PrepareContext(ctx, `INSERT INTO described (pair, key, metadata, found) VALUES (?, ?, ?, ?)
			ON CONFLICT (pair, key) DO UPDATE SET metadata = excluded.metadata, found = excluded.found`); err != nil {
			return err
		}
	}
	if _, err := r.described.ExecContext(ctx, r.pair, o.Key, cmp.Or(o.Described, nothing), cmp.Or(o.Found, nothing)); err != nil {
		return fmt.Errorf("save metadata: %w", err)
	}
	return nil
}

// forgetDescribed forgets what the source said of an object whose asset is another one now,
// of which no user has said anything.
func forgetDescribed(ctx context.Context, tx *sql.Tx, pair int64, key sources.Key) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM described WHERE pair = ? AND key = ?`, pair, key)
	return wrap("delete metadata", err)
}

// A FoundField is a field that was found of an object.
type FoundField struct {
	Source, Name string
	Unmapped     bool // it went not used
}

// A FieldCount says of how many objects of a run a field was found.
type FieldCount struct {
	Source, Name      string
	Objects, Unmapped int64
}

// Fields lists what was found of the objects of a run, by name and where it was found.
func (s *Store) Fields(ctx context.Context, run int64) ([]FieldCount, error) {
	return query(ctx, s.r, "list fields", func(rows *sql.Rows) (f FieldCount, err error) {
		return f, rows.Scan(&f.Source, &f.Name, &f.Objects, &f.Unmapped)
	}, `SELECT metadata_source, field, objects, unmapped FROM fields WHERE run = ? ORDER BY field, metadata_source`, run)
}

// countFields adds what was found of the objects of some outcomes, once they are described.
func (r *recorder) countFields(ctx context.Context, outcomes []Outcome) error {
	type field struct{ origin, name string }
	counts := map[field]FieldCount{}
	for _, o := range outcomes {
		if o.State != ItemDone {
			continue
		}
		for _, f := range o.Fields {
			c := counts[field{f.Source, f.Name}]
			c.Objects++
			if f.Unmapped {
				c.Unmapped++
			}
			counts[field{f.Source, f.Name}] = c
		}
	}
	for f, c := range counts {
		if _, err := r.tx.ExecContext(ctx, `INSERT INTO fields (run, metadata_source, field, objects, unmapped) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (run, metadata_source, field) DO UPDATE SET objects = objects + excluded.objects, unmapped = unmapped + excluded.unmapped`,
			r.run, f.origin, f.name, c.Objects, c.Unmapped); err != nil {
			return fmt.Errorf("count fields: %w", err)
		}
	}
	return nil
}
