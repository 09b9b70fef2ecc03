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

// A Description is the metadata that the source stores with an object.
type Description struct {
	ContentType string
	Metadata    map[string]string
	Tags        map[string]string
}

// IsZero reports whether the description is empty.
func (d Description) IsZero() bool {
	return d.ContentType == "" && len(d.Metadata) == 0 && len(d.Tags) == 0
}

// isOnlyType reports whether there is only a content type.
func (d *Description) isOnlyType() bool {
	return d != nil && d.ContentType != "" && len(d.Metadata) == 0 && len(d.Tags) == 0
}

const descriptionQuery = `SELECT content_type, metadata, tags FROM descriptions WHERE pair = ?1 AND key = ?2
	UNION ALL SELECT b.content_type, '{}', '{}' FROM receipts r CROSS JOIN bases b ON b.id = r.base
	WHERE r.pair = ?1 AND r.key = ?2 AND b.content_type <> ''`

// Description returns the storage metadata of an object with a receipt; ErrNotFound if there is
// none.
func (s *Store) Description(ctx context.Context, pair int64, key sources.Key) (Description, error) {
	all, err := query(ctx, s.r, "find description", scanDescription, descriptionQuery, pair, key)
	return First(all, err, "description of "+string(key))
}

// descriptionOf is Description within a transaction. It returns nil if there is none.
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

// updateMetadata stores the storage metadata of an object. Most sources have none, so the statement
// is only prepared when it is needed.
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
		return fmt.Errorf("save storage metadata: %w", err)
	}
	return nil
}

// object writes a map as a JSON object; an empty one for nil.
func object(m map[string]string) (string, error) {
	if len(m) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(m)
	return string(text), err
}

// A DescriptionSum counts the uploaded and adopted objects of a run with storage metadata: with any,
// with a content type, with metadata, with tags.
type DescriptionSum struct{ Objects, ContentTypes, Metadata, Tags int64 }

// SumDescriptions counts the objects of a run with storage metadata.
func (s *Store) SumDescriptions(ctx context.Context, run Run) (d DescriptionSum, err error) {
	err = s.r.row(ctx, "count storage metadata", `SELECT count(*), coalesce(sum(content_type <> ''), 0), coalesce(sum(metadata <> '{}'), 0),
		coalesce(sum(tags <> '{}'), 0) FROM (
			SELECT d.content_type, d.metadata, d.tags FROM descriptions d JOIN receipts r ON r.pair = d.pair AND r.key = d.key
			WHERE d.pair = ?1 AND r.run = ?2
			UNION ALL SELECT b.content_type, '{}', '{}' FROM receipts r CROSS JOIN bases b ON b.id = r.base
			WHERE r.pair = ?1 AND r.run = ?2 AND b.content_type <> '')`, run.Pair.ID, run.Num).Scan(&d.Objects, &d.ContentTypes, &d.Metadata, &d.Tags)
	return d, err
}

// A Described is the metadata of an object when its asset was updated last.
type Described struct {
	Key      sources.Key
	Metadata string // a JSON object; "" without metadata
	Table    string // of the user's table, as in Found; empty if there is none
	Found    string // all found metadata, a JSON object by metadata source; empty if there is none
	OldURLs  string // the old URLs in Found from a sidecar or the source; empty if there are none
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

// oldURLsColumn selects the old URLs from a sidecar or the storage in the found metadata.
const oldURLsColumn = `CASE WHEN coalesce(found -> '$.sidecar.old_url', found -> '$.storage.old_url') IS NULL THEN '' ELSE json_object(
	'sidecar', json_object('old_url', coalesce(found -> '$.sidecar.old_url', json('[]'))),
	'storage', json_object('old_url', coalesce(found -> '$.storage.old_url', json('[]')))) END`

// DescribedAs returns the metadata of an object when its asset was updated last; empty if it never
// was.
func (s *Store) DescribedAs(ctx context.Context, pair int64, key sources.Key) (d Described, err error) {
	const op = "find metadata"
	err = s.r.row(ctx, op, `SELECT key, metadata, coalesce(found -> '$.table', ''), found FROM described WHERE pair = ? AND key = ?`, pair, key).
		Scan(&d.Key, &d.Metadata, &d.Table, &d.Found)
	if errors.Is(err, sql.ErrNoRows) {
		return d, nil
	}
	return d.orEmpty(), err
}

// nothing is the value of the columns without metadata.
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

// FoundTwice lists the objects with metadata from several sources, in key order, with everything
// found.
func (s *Store) FoundTwice(ctx context.Context, pair int64) iter.Seq2[Described, error] {
	return paged(s.r, "", func(d Described) sources.Key { return d.Key }, func(after sources.Key) ([]Described, error) {
		return query(ctx, s.r, "list found metadata", func(rows *sql.Rows) (d Described, err error) {
			return d, rows.Scan(&d.Key, &d.Metadata, &d.Found)
		}, `SELECT key, metadata, found FROM described WHERE pair = ? AND key > ?
			AND (SELECT count(*) FROM json_each(found)) > 1 ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// note stores the metadata of an updated object. Most runs update none, so the statement is only
// prepared when it is needed.
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

// forgetDescribed deletes the metadata of an object that has another asset now, which has none yet.
func forgetDescribed(ctx context.Context, tx *sql.Tx, pair int64, key sources.Key) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM described WHERE pair = ? AND key = ?`, pair, key)
	return wrap("delete metadata", err)
}

// A FoundField is a field that was found of an object.
type FoundField struct {
	Source, Name string
	Unmapped     bool // it was not mapped
}

// A FieldCount counts the objects of a run with a field.
type FieldCount struct {
	Source, Name      string
	Objects, Unmapped int64
}

// Fields lists the found fields of a run, by name and metadata source.
func (s *Store) Fields(ctx context.Context, run int64) ([]FieldCount, error) {
	return query(ctx, s.r, "list fields", func(rows *sql.Rows) (f FieldCount, err error) {
		return f, rows.Scan(&f.Source, &f.Name, &f.Objects, &f.Unmapped)
	}, `SELECT metadata_source, field, objects, unmapped FROM fields WHERE run = ? ORDER BY field, metadata_source`, run)
}

// A CollectionSum counts different collections, memberships in them, objects in any and objects in several.
type CollectionSum struct{ Names, Memberships, Objects, Several int64 }

// SumCollections counts the collections of the objects of a pair with an asset. It reads all found
// metadata.
func (s *Store) SumCollections(ctx context.Context, pair int64) (c CollectionSum, err error) {
	err = s.r.row(ctx, "count collections", `WITH found AS MATERIALIZED (
			SELECT coalesce(found -> '$.table.collections', found -> '$.sidecar.collections', found -> '$.storage.collections') AS names
			FROM described d WHERE pair = ?1 AND names IS NOT NULL AND EXISTS (SELECT 1 FROM receipts r WHERE r.pair = d.pair AND r.key = d.key))
		SELECT (SELECT count(DISTINCT value) FROM found, json_each(names)), coalesce(sum(json_array_length(names)), 0), count(*),
			coalesce(sum(json_array_length(names) > 1), 0) FROM found`, pair).Scan(&c.Names, &c.Memberships, &c.Objects, &c.Several)
	return c, err
}

// countFields adds the fields of updated objects.
func (r *recorder) countFields(ctx context.Context, outcomes []Outcome) error {
	type field struct{ source, name string }
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
			r.run, f.source, f.name, c.Objects, c.Unmapped); err != nil {
			return fmt.Errorf("count fields: %w", err)
		}
	}
	return nil
}
