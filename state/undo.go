package state

import (
	"context"
	"database/sql"
	"fmt"
)

// An undo is a run that takes back what another one made. Its items are the objects
// whose assets that run made, each with the asset and the place that it has; adopted ones
// are not among them.

// undoable chooses the receipts of what a run made.
const undoable = ` FROM receipts c WHERE c.pair = ?1 AND c.run = ?2 AND c.adopted = 0`

// Undoable counts what an undo of a run would have to look at.
func (s *Store) Undoable(ctx context.Context, run Run) (sum ReceiptSum, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(c.size), 0)`+undoable, run.Pair.ID, run.Num).
		Scan(&sum.Objects, &sum.Bytes)
	return sum, wrap("sum up what a run made", err)
}

// PlanUndo begins a run that only shows what an undo would do.
func (s *Store) PlanUndo(ctx context.Context, undone Run) (Run, error) {
	return s.beginUndo(ctx, undone, "plan", func(context.Context, *sql.Tx) error { return nil })
}

// BeginUndo begins an undo. The run that is undone is given up if it is not finished: what
// is taken back must not come back when it is gone on with. It fails with ErrConflict if
// the outcome of an item of that run is unknown, or if another run is being applied.
func (s *Store) BeginUndo(ctx context.Context, undone Run) (Run, error) {
	return s.beginUndo(ctx, undone, "undo", func(ctx context.Context, tx *sql.Tx) error {
		var open bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE num = ? AND state NOT IN ('finished', 'superseded'))`,
			undone.Num).Scan(&open)
		if err == nil && open {
			err = supersede(ctx, tx, undone.Num, s.now())
		}
		if err != nil {
			return err
		}
		var other bool
		err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE pair = ? AND state = 'applying')`,
			undone.Pair.ID).Scan(&other)
		if err == nil && other {
			return fmt.Errorf("another run is not finished: %w", ErrConflict)
		}
		return err
	})
}

func (s *Store) beginUndo(ctx context.Context, undone Run, command string, prepare func(context.Context, *sql.Tx) error) (Run, error) {
	r := s.newRun(undone.Pair, command, []byte("{}"))
	r.Undoes = undone.Num
	err := s.write(ctx, "begin undo", func(ctx context.Context, tx *sql.Tx) error {
		if undone.Undoes != 0 {
			return fmt.Errorf("run %s is an undo itself: %w", undone.ID, ErrConflict)
		}
		if pruned, err := isPruned(ctx, tx, undone.Num); err != nil {
			return err
		} else if pruned { // nobody knows what was there before it
			return fmt.Errorf("run %s cannot be undone any more: %w", undone.ID, ErrPruned)
		}
		if err := prepare(ctx, tx); err != nil {
			return err
		}
		return insertRun(ctx, tx, &r)
	})
	return r, err
}

// StageUndo makes an undo's items of the receipts of the run that it undoes, all at once.
// Folders are paths, as the items of that run have them. Where a receipt names a base, so
// does its item.
func (s *Store) StageUndo(ctx context.Context, undo Run) error {
	return s.write(ctx, "stage undo", func(ctx context.Context, tx *sql.Tx) error {
		if err := one(ctx, tx, `UPDATE runs SET state = 'planning', scanned = 1 WHERE num = ? AND state = 'scanning'`, undo.Num); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO items (run, key, size, time, version_tag, obstacle, base, category, folder, name, slot, asset)
			SELECT ?3, c.key, c.size, c.time, c.version_tag, '', c.base, c.category,
			coalesce((SELECT i.folder FROM items i WHERE i.run = c.run AND i.key = c.key), ''),
			c.name || CASE c.extension WHEN '' THEN '' ELSE '.' || c.extension END, c.slot, c.asset`+undoable,
			undo.Pair.ID, undo.Undoes, undo.Num)
		return err
	})
}

// DecideUndo is Decided for the items of an undo, of which it stores what has to happen to
// them and why: all else is as it was staged. One statement is enough for all that are
// decided alike, as most are.
func (s *Store) DecideUndo(ctx context.Context, undo int64, items []Item) error {
	type decision struct {
		action     Action
		reason     string
		state      ItemState
		class, err string
	}
	last := map[string]decision{} // an asset may be listed twice
	for _, i := range items {
		last[i.Key] = decision{i.Action, i.Reason, i.State, i.Class, i.Error}
	}
	alike := map[decision][]string{}
	for key, d := range last {
		alike[d] = append(alike[d], key)
	}
	return s.write(ctx, "store decisions", func(ctx context.Context, tx *sql.Tx) error {
		if err := inState(ctx, tx, undo, Planning); err != nil {
			return err
		}
		for d, keys := range alike {
			res, err := tx.ExecContext(ctx, `UPDATE items SET action = ?, reason = ?, state = ?, class = ?, error = ?
				WHERE run = ? AND attempts = 0 AND key IN `+list(len(keys)), listed(keys, d.action, d.reason, d.state, d.class, d.err, undo)...)
			if err := changes(int64(len(keys)), res, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// UndoContainers lists where the assets are that a run made.
func (s *Store) UndoContainers(ctx context.Context, undo Run) ([]Container, error) {
	return query(ctx, s.r, "list containers", func(rows *sql.Rows) (c Container, err error) {
		return c, rows.Scan(&c.Category, &c.Folder)
	}, `SELECT DISTINCT `+categoryColumn+`, c.folder`+undoable+` ORDER BY 1, 2`, undo.Pair.ID, undo.Undoes)
}

// SharedAssets finds out which of some assets stand for objects of other sources, too.
func (s *Store) SharedAssets(ctx context.Context, pair Pair, assets []string) (map[string]bool, error) {
	shared, err := query(ctx, s.r, "look up assets", scanText, `SELECT r.asset FROM pairs p JOIN receipts r INDEXED BY receipts_asset ON r.pair = p.id
		WHERE p.destination = ? AND p.id <> ? AND r.asset IN `+list(len(assets)), listed(assets, pair.Destination, pair.ID)...)
	set := make(map[string]bool, len(shared))
	for _, asset := range shared {
		set[asset] = true
	}
	return set, err
}

// FinishUndo ends an undo in which nothing is left to do. The receipts of what was gone
// already are forgotten with that.
func (s *Store) FinishUndo(ctx context.Context, undo Run) error {
	return s.write(ctx, "finish undo", func(ctx context.Context, tx *sql.Tx) error {
		const gone = ` WHERE pair = ?1 AND key IN (SELECT key FROM items WHERE run = ?2 AND state = 'skipped')`
		for _, table := range []string{"descriptions", "described", "failures", "receipts"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+gone, undo.Pair.ID, undo.Num); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE pairs SET (objects, bytes) =
			(SELECT count(*), coalesce(sum(size), 0) FROM receipts WHERE pair = ?1) WHERE id = ?1`, undo.Pair.ID); err != nil {
			return err
		}
		if err := forgetPlaces(ctx, tx, undo.Pair.ID, undo.Num, `state = 'skipped'`); err != nil {
			return err
		}
		return finishRun(ctx, tx, undo.Num, s.now())
	})
}

// UndoneBy lists the runs that took back what a run made, or some of it, the oldest first.
func (s *Store) UndoneBy(ctx context.Context, run int64) ([]Run, error) {
	return query(ctx, s.r, "find undos", scanRun, `SELECT `+runColumns+`
		WHERE r.undoes = ? AND r.command <> 'plan' ORDER BY r.num`, run)
}

// TakenBack sums up what undos have trashed of what a run made.
func (s *Store) TakenBack(ctx context.Context, run int64) (sum ReceiptSum, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT coalesce(sum(t.objects), 0), coalesce(sum(t.bytes), 0) FROM runs u JOIN tallies t ON t.run = u.num
		WHERE u.undoes = ? AND t.action = 'trash' AND t.state = 'done'`, run).Scan(&sum.Objects, &sum.Bytes)
	return sum, wrap("sum up what was taken back", interrupted(ctx, "sum up what was taken back", err))
}

// forgetPlaces has the next plan look into the places of chosen items: somebody may get
// their assets back from the trash, and the journal does not know them any more.
func forgetPlaces(ctx context.Context, tx *sql.Tx, pair, run int64, chosen string, args ...any) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM ours WHERE pair = ? AND (category, path) IN
		(SELECT `+categoryColumn+`, folder FROM items WHERE run = ? AND `+chosen+`)`, append([]any{pair, run}, args...)...)
	return err
}

// UndoneRun finds the run that an undo takes back.
func (s *Store) UndoneRun(ctx context.Context, undo Run) (Run, error) {
	runs, err := query(ctx, s.r, "find undone run", scanRun, `SELECT `+runColumns+` WHERE r.num = ?`, undo.Undoes)
	return first(runs, err, "the run that "+undo.ID+" undoes")
}
