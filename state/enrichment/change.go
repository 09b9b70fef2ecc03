package enrichment

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"assetferry/state"
)

// A ChangeState is the state of a change.
type ChangeState string

// The states of a change. At the start of a process, applying and undoing are left by an
// interrupted process.
const (
	ChangeApplying ChangeState = "applying"
	ChangeApplied  ChangeState = "applied"
	ChangeUndoing  ChangeState = "undoing"
	ChangeUndone   ChangeState = "undone"
	ChangeConflict ChangeState = "conflict"
	ChangeFailed   ChangeState = "failed"
)

// Written contains the fields of an asset that a change concerns; others are nil.
type Written struct {
	Description *string   `json:"description,omitempty"`
	Tags        *[]string `json:"tags,omitempty"`
	Attribute   string    `json:"attribute,omitempty"` // name of a custom attribute
	Value       *string   `json:"value,omitempty"`     // of Attribute; nil: missing
}

// A Change is written into an asset by a run, or about to be.
type Change struct {
	Run           string // ID
	Enrichment    Enrichment
	State         ChangeState
	Before, After Written
	Error         string
}

// Apply records that a run is about to write an accepted enrichment, before the request is
// sent.
func (s *Store) Apply(ctx context.Context, run, enrichment int64, before, after Written) error {
	b, err := json.Marshal(before)
	if err != nil {
		return err
	}
	a, err := json.Marshal(after)
	if err != nil {
		return err
	}
	return s.state.Write(ctx, "note change", func(ctx context.Context, tx *sql.Tx) error {
		now := s.state.Now().UnixMilli()
		if err := state.One(ctx, tx, `UPDATE enrichments SET state = 'applying', class = '', error = '', updated_at = ? WHERE num = ? AND state = 'accepted'`, now, enrichment); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO enrichment_changes (run, enrichment, asset, state, before, after, at)
			SELECT ?, num, asset, 'applying', ?, ?, ? FROM enrichments WHERE num = ?`, run, string(b), string(a), now, enrichment)
		return err
	})
}

// Applied stores the result of writing an enrichment: applied, a conflict, or failed and still
// accepted. The run is that of the change, which may be an earlier one.
func (s *Store) Applied(ctx context.Context, run string, enrichment int64, outcome ChangeState, why string) error {
	st := map[ChangeState]State{ChangeApplied: Applied, ChangeConflict: Conflict, ChangeFailed: Accepted}[outcome]
	return s.state.Write(ctx, "record change", func(ctx context.Context, tx *sql.Tx) error {
		now := s.state.Now().UnixMilli()
		if err := state.One(ctx, tx, `UPDATE enrichment_changes SET state = ?, error = ?, at = ? WHERE enrichment = ? AND state = 'applying'
			AND run = (SELECT num FROM enrichment_runs WHERE id = ?)`, string(outcome), why, now, enrichment, run); err != nil {
			return err
		}
		return state.One(ctx, tx, `UPDATE enrichments SET state = ?, error = ?, updated_at = ? WHERE num = ? AND state = 'applying'`, string(st), why, now, enrichment)
	})
}

// Conflict records that an accepted enrichment was not written, because another user changed
// the asset.
func (s *Store) Conflict(ctx context.Context, enrichment int64, why string) error {
	return s.state.Write(ctx, "note conflict", func(ctx context.Context, tx *sql.Tx) error {
		return state.One(ctx, tx, `UPDATE enrichments SET state = 'conflict', error = ?, updated_at = ? WHERE num = ? AND state = 'accepted'`,
			why, s.state.Now().UnixMilli(), enrichment)
	})
}

// Undo records that a run is about to undo a change, before the request is sent.
func (s *Store) Undo(ctx context.Context, run string, enrichment, by int64) error {
	return s.state.Write(ctx, "note undo", func(ctx context.Context, tx *sql.Tx) error {
		return state.One(ctx, tx, `UPDATE enrichment_changes SET state = 'undoing', undone_by = ?, error = '', at = ? WHERE enrichment = ?
			AND state IN ('applied', 'undoing') AND run = (SELECT num FROM enrichment_runs WHERE id = ?)`, by, s.state.Now().UnixMilli(), enrichment, run)
	})
}

// Undone stores the result of an undo: undone, a conflict, or still applied.
func (s *Store) Undone(ctx context.Context, run string, enrichment int64, outcome ChangeState, why string) error {
	return s.state.Write(ctx, "record undo", func(ctx context.Context, tx *sql.Tx) error {
		now := s.state.Now().UnixMilli()
		if err := state.One(ctx, tx, `UPDATE enrichment_changes SET state = ?, error = ?, at = ? WHERE enrichment = ? AND state IN ('undoing', 'applied')
			AND run = (SELECT num FROM enrichment_runs WHERE id = ?)`, string(outcome), why, now, enrichment, run); err != nil {
			return err
		}
		if outcome != ChangeUndone {
			return nil
		}
		_, err := tx.ExecContext(ctx, `UPDATE enrichments SET state = 'undone', updated_at = ? WHERE num = ? AND state = 'applied'`, now, enrichment)
		return err
	})
}

// Changes lists the changes of a run by number of the enrichment.
func (s *Store) Changes(ctx context.Context, run string) iter.Seq2[Change, error] {
	return s.changes(ctx, `w.id = ?`, run)
}

// OpenChanges lists the changes at a destination without a result.
func (s *Store) OpenChanges(ctx context.Context, destination string) iter.Seq2[Change, error] {
	return s.changes(ctx, `w.destination = ? AND c.state IN ('applying', 'undoing')`, destination)
}

// LaterChanges lists the applied changes of an asset by later runs at the same destination.
func (s *Store) LaterChanges(ctx context.Context, run, asset string) iter.Seq2[Change, error] {
	return s.changes(ctx, `c.asset = ? AND c.state = 'applied' AND w.destination = (SELECT destination FROM enrichment_runs WHERE id = ?)
		AND c.run > (SELECT num FROM enrichment_runs WHERE id = ?)`, asset, run, run)
}

func (s *Store) changes(ctx context.Context, where string, args ...any) iter.Seq2[Change, error] {
	type place struct{ run, num int64 }
	type row struct {
		Change
		at place
	}
	all := state.Paged(s.state, place{}, func(c row) place { return c.at }, func(after place) ([]row, error) {
		return state.Query(ctx, s.state, "list changes", func(rows *sql.Rows) (c row, err error) {
			var e enrichmentRow
			var before, changed string
			if err := rows.Scan(append([]any{&c.at.run, &c.at.num, &c.Run, &c.State, &before, &changed, &c.Error}, enrichmentTable.Targets(&e)...)...); err != nil {
				return c, err
			}
			c.Enrichment, err = e.enrichment()
			return c, errors.Join(err, unpack(before, &c.Before), unpack(changed, &c.After))
		}, `SELECT c.run, c.enrichment, w.id, c.state, c.before, c.after, c.error, `+enrichmentColumns+` FROM enrichment_changes c
			JOIN enrichment_runs w ON w.num = c.run JOIN enrichments e ON e.num = c.enrichment JOIN enrichment_runs r ON r.num = e.run
			WHERE `+where+` AND (c.run, c.enrichment) > (?, ?) ORDER BY c.run, c.enrichment LIMIT ?`, append(slices.Clone(args), after.run, after.num, state.PageSize)...)
	})
	return func(yield func(Change, error) bool) {
		for c, err := range all {
			if !yield(c.Change, err) {
				return
			}
		}
	}
}
