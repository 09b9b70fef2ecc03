package enrichment

import (
	"context"
	"database/sql"
	"time"

	"assetferry/state"
)

// A Run is one invocation of a command that asks the AI content service, or that
// writes what it proposed.
type Run struct {
	Num         int64
	ID          string // what people call it
	Destination string
	Command     string // describe, review, translate, apply, undo
	Service     string // host of the AI content service; empty if it was not asked
	Model       string
	Contexts    []string // of the service that requests refer to, as people write them
	Undoes      string   // id of the run that this one takes back
	StartedAt   time.Time
	FinishedAt  time.Time // zero until then
	Calls       int64     // that were billed
	Credits     *float64  // nil if the service does not tell
	Bytes       int64     // of pictures sent
}

// noContexts is how the journal says that a run has none.
const noContexts = "[]"

// BeginRun begins a run and gives it its number and id.
func (s *Store) BeginRun(ctx context.Context, r Run) (Run, error) {
	r.StartedAt = s.state.Now().UTC().Truncate(time.Millisecond)
	r.ID = state.NewRunID(r.StartedAt)
	contexts, err := packList(r.Contexts)
	if err != nil {
		return r, err
	}
	err = s.state.Write(ctx, "begin run", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO enrichment_runs (id, destination, command, service, model, contexts, undoes, started_at)
			VALUES (?, ?, ?, ?, ?, ?, (SELECT num FROM enrichment_runs WHERE id = ?), ?) RETURNING num`,
			r.ID, r.Destination, r.Command, r.Service, r.Model, contexts, r.Undoes, r.StartedAt.UnixMilli()).Scan(&r.Num)
	})
	return r, err
}

// FinishRun notes that a run came to its end, and what it cost; credits are nil if
// that is not known.
func (s *Store) FinishRun(ctx context.Context, run int64, credits *float64) error {
	return s.state.Write(ctx, "finish run", func(ctx context.Context, tx *sql.Tx) error {
		return state.One(ctx, tx, `UPDATE enrichment_runs SET finished_at = ?, credits = ? WHERE num = ? AND finished_at IS NULL`,
			s.state.Now().UnixMilli(), credits, run)
	})
}

// Run finds a run by its id; ErrNotFound if there is none.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	runs, err := s.runs(ctx, `WHERE r.id = ?`, id)
	return state.First(runs, err, "run "+id)
}

// Runs lists the runs of a destination, or of all if it is empty, the newest first
// and at most so many.
func (s *Store) Runs(ctx context.Context, destination string, limit int) ([]Run, error) {
	return s.runs(ctx, `WHERE ? IN ('', r.destination) ORDER BY r.num DESC LIMIT ?`, destination, limit)
}

func (s *Store) runs(ctx context.Context, where string, args ...any) ([]Run, error) {
	return state.Query(ctx, s.state, "list runs", func(rows *sql.Rows) (r Run, err error) {
		var started, finished int64
		var credits sql.Null[float64]
		var contexts string
		err = rows.Scan(&r.Num, &r.ID, &r.Destination, &r.Command, &r.Service, &r.Model, &contexts, &r.Undoes, &started, &finished, &r.Calls, &credits, &r.Bytes)
		r.StartedAt = time.UnixMilli(started).UTC()
		if finished != 0 {
			r.FinishedAt = time.UnixMilli(finished).UTC()
		}
		if credits.Valid {
			r.Credits = &credits.V
		}
		if err == nil && contexts != noContexts {
			err = unpack(contexts, &r.Contexts)
		}
		return r, err
	}, `SELECT r.num, r.id, r.destination, r.command, r.service, r.model, r.contexts, coalesce(u.id, ''), r.started_at, coalesce(r.finished_at, 0),
		r.calls, r.credits, r.bytes FROM enrichment_runs r LEFT JOIN enrichment_runs u ON u.num = r.undoes `+where, args...)
}

// A Cost is what former calls to a service cost.
type Cost struct {
	Calls   int64 // that were billed
	Credits float64
	Took    time.Duration // of the runs, from begin to end
}

// Cost sums up the finished runs of a command that know their credits, the last
// 20 of them. Without any it is zero.
func (s *Store) Cost(ctx context.Context, service, command string) (Cost, error) {
	sums, err := state.Query(ctx, s.state, "sum up costs", func(rows *sql.Rows) (c Cost, err error) {
		var took int64
		err = rows.Scan(&c.Calls, &c.Credits, &took)
		c.Took = time.Duration(took) * time.Millisecond
		return c, err
	}, `SELECT coalesce(sum(calls), 0), coalesce(sum(credits), 0), coalesce(sum(finished_at - started_at), 0) FROM
		(SELECT calls, credits, finished_at, started_at FROM enrichment_runs WHERE service = ? AND command = ? AND finished_at IS NOT NULL
			AND credits IS NOT NULL AND calls > 0 ORDER BY num DESC LIMIT 20)`, service, command)
	return state.First(sums, err, "costs of "+command)
}
