package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

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
func (r *recorder) describe(ctx context.Context, key sources.Key, d *Description) (err error) {
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
		return fmt.Errorf("save description: %w", err)
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
