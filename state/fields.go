package state

import (
	"context"
	"database/sql"
	"fmt"
)

// A FoundField is a field that was found of an object.
type FoundField struct {
	Origin, Name string
	Unmapped     bool // it went nowhere
}

// A FieldCount says of how many objects of a run a field was found.
type FieldCount struct {
	Origin, Name      string
	Objects, Unmapped int64
}

// Fields lists what was found of the objects of a run, by name and where it was found.
func (s *Store) Fields(ctx context.Context, run int64) ([]FieldCount, error) {
	return query(ctx, s.r, "list fields", func(rows *sql.Rows) (f FieldCount, err error) {
		return f, rows.Scan(&f.Origin, &f.Name, &f.Objects, &f.Unmapped)
	}, `SELECT origin, field, objects, unmapped FROM fields WHERE run = ? ORDER BY field, origin`, run)
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
			c := counts[field{f.Origin, f.Name}]
			c.Objects++
			if f.Unmapped {
				c.Unmapped++
			}
			counts[field{f.Origin, f.Name}] = c
		}
	}
	for f, c := range counts {
		if _, err := r.tx.ExecContext(ctx, `INSERT INTO fields (run, origin, field, objects, unmapped) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (run, origin, field) DO UPDATE SET objects = objects + excluded.objects, unmapped = unmapped + excluded.unmapped`,
			r.run, f.origin, f.name, c.Objects, c.Unmapped); err != nil {
			return fmt.Errorf("count fields: %w", err)
		}
	}
	return nil
}
