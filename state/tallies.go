package state

import (
	"context"
	"database/sql"
)

// A Tally counts the items of a run that share an action, a reason and a state.
type Tally struct {
	Action  Action
	Reason  string
	State   ItemState
	Objects int64
	Bytes   int64
}

// inFlight holds for the few items in progress, or scheduled for retry. It is the condition of the
// index items_open.
const inFlight = `(items.state = 'sending' OR items.state = 'sent' OR items.state = 'unconfirmed' OR items.state = 'retry_scheduled')`

func (st ItemState) isInFlight() bool {
	return st == ItemSending || st == ItemSent || st == ItemUnconfirmed || st == ItemRetryScheduled
}

// inFlightOf selects those of a run by that index. Without the hint SQLite would read all items of
// the run.
const inFlightOf = ` items INDEXED BY items_open WHERE run = ?1 AND ` + inFlight

// Tallies returns the tallies of a run. Unchanged objects, which are not staged, are included.
//
// Once a run has its plan, every transaction that changes the state of an item updates its tally,
// so that reports need not read a million items. Items in flight are counted on demand, because
// they change state often.
func (s *Store) Tallies(ctx context.Context, run int64) ([]Tally, error) {
	return query(ctx, s.r, "sum up run", scanTally, `SELECT action, reason, state, objects, bytes FROM tallies WHERE run = ?1 AND objects > 0
		UNION ALL SELECT action, reason, state, count(*), sum(size) FROM`+inFlightOf+` GROUP BY 1, 2, 3
		UNION ALL SELECT coalesce(action, ''), reason, items.state, count(*), sum(size) FROM runs CROSS JOIN items ON run = num
		WHERE num = ?1 AND tallied = 0 AND NOT `+inFlight+` GROUP BY 1, 2, 3
		UNION ALL SELECT 'unchanged', 'unchanged', 'skipped', unchanged, unchanged_bytes
		FROM runs WHERE num = ?1 AND unchanged > 0
		ORDER BY 1, 2, 3`, run)
}

func scanTally(rows *sql.Rows) (t Tally, err error) {
	return t, rows.Scan(&t.Action, &t.Reason, &t.State, &t.Objects, &t.Bytes)
}

// tally counts the items of a run; from then on its tallies are stored.
func tally(ctx context.Context, tx *sql.Tx, run int64) error {
	if err := untally(ctx, tx, run); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO tallies (run, action, reason, state, objects, bytes)
		SELECT run, coalesce(action, ''), reason, state, count(*), sum(size) FROM items
		WHERE run = ? AND NOT `+inFlight+` GROUP BY 2, 3, 4`, run); err != nil {
		return err
	}
	return setTallied(ctx, tx, run)
}

// saveTallies stores counted tallies of a run, or counts its items if there are none.
func saveTallies(ctx context.Context, tx *sql.Tx, run int64, counted []Tally) error {
	if len(counted) == 0 {
		return tally(ctx, tx, run)
	}
	if err := untally(ctx, tx, run); err != nil {
		return err
	}
	if err := setTallied(ctx, tx, run); err != nil {
		return err
	}
	all := recount{}
	for _, t := range counted {
		all.add(t, 1)
	}
	return all.write(ctx, tx, run)
}

func setTallied(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE runs SET tallied = 1 WHERE num = ?`, run)
	return err
}

// untally keeps no tallies of a run for now.
func untally(ctx context.Context, tx *sql.Tx, run int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM tallies WHERE run = ?`, run); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE runs SET tallied = 0 WHERE num = ?`, run)
	return err
}

// A recount is the change of a transaction to the tallies of a run, by the other fields of a Tally.
type recount map[Tally]ReceiptSum

// add adds items that enter a state, or leave it with a negative sign.
func (r recount) add(t Tally, sign int64) {
	of := Tally{Action: t.Action, Reason: t.Reason, State: t.State}
	r[of] = r[of].plus(ReceiptSum{sign * t.Objects, sign * t.Bytes})
}

// write updates the tallies of a run, if they are stored.
func (r recount) write(ctx context.Context, tx *sql.Tx, run int64) error {
	for of, sum := range r {
		if of.State.isInFlight() {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO tallies (run, action, reason, state, objects, bytes)
			SELECT num, ?, ?, ?, ?, ? FROM runs WHERE num = ? AND tallied = 1
			ON CONFLICT DO UPDATE SET objects = objects + excluded.objects, bytes = bytes + excluded.bytes`,
			of.Action, of.Reason, of.State, sum.Objects, sum.Bytes, run); err != nil {
			return err
		}
	}
	return nil
}
