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

// A ChangeState says how far it has come with a change of an asset.
type ChangeState string

// The states of a change. One that is applying or undoing when a process begins was left so
// by another one that died.
const (
	ChangeApplying ChangeState = "applying"
	ChangeApplied  ChangeState = "applied"
	ChangeUndoing  ChangeState = "undoing"
	ChangeUndone   ChangeState = "undone"
	ChangeConflict ChangeState = "conflict"
	ChangeFailed   ChangeState = "failed"
)

// Written is what an asset has in the fields that a change concerns; those of no concern are
// nil.
type Written struct {
	Description *string   `json:"description,omitempty"`
	Tags        *[]string `json:"tags,omitempty"`
	Attribute   string    `json:"attribute,omitempty"` // the name of a custom attribute
	Value       *string   `json:"value,omitempty"`     // of Attribute; nil: it is not there
}

// A Change is what a run wrote into an asset, or is about to write.
type Change struct {
	Run           string // id
	Enrichment    Enrichment
	State         ChangeState
	Before, After Written
	Error         string
}

// Apply notes, before anything is sent, that a run is about to write an accepted enrichment
// into its asset.
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

// Applied records what came of writing an enrichment: it is applied, there is a conflict, or
// it failed and is accepted still. The run is that of the change, which may be an earlier one.
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

// Conflict notes that an accepted enrichment is not written, because somebody else wrote
// since it was proposed.
func (s *Store) Conflict(ctx context.Context, enrichment int64, why string) error {
	return s.state.Write(ctx, "note conflict", func(ctx context.Context, tx *sql.Tx) error {
		return state.One(ctx, tx, `UPDATE enrichments SET state = 'conflict', error = ?, updated_at = ? WHERE num = ? AND state = 'accepted'`,
			why, s.state.Now().UnixMilli(), enrichment)
	})
}

// Undo notes, before anything is sent, that a run is about to take back what another one
// wrote into an asset.
func (s *Store) Undo(ctx context.Context, run string, enrichment, by int64) error {
	return s.state.Write(ctx, "note undo", func(ctx context.Context, tx *sql.Tx) error {
		return state.One(ctx, tx, `UPDATE enrichment_changes SET state = 'undoing', undone_by = ?, error = '', at = ? WHERE enrichment = ?
			AND state IN ('applied', 'undoing') AND run = (SELECT num FROM enrichment_runs WHERE id = ?)`, by, s.state.Now().UnixMilli(), enrichment, run)
	})
}

// Undone records what came of taking a change back: it is undone, there is a
// conflict, or it is applied still.
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

// Changes lists what a run wrote, by the numbers of the enrichments.
func (s *Store) Changes(ctx context.Context, run string) iter.Seq2[Change, error] {
	return s.changes(ctx, `w.id = ?`, run)
}

// OpenChanges lists the changes at a destination whose outcome is not known.
func (s *Store) OpenChanges(ctx context.Context, destination string) iter.Seq2[Change, error] {
	return s.changes(ctx, `w.destination = ? AND c.state IN ('applying', 'undoing')`, destination)
}

// LaterChanges lists the changes of an asset that later runs at the same destination
// applied, and that stand.
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
