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

// noContexts is how the state database says that a run has none.
const noContexts = "[]"

// BeginRun begins a run and gives it its number and id.
func (s *Store) BeginRun(ctx context.Context, r Run) (_ Run, err error) {
	r.StartedAt = s.state.Now().UTC().Truncate(time.Millisecond)
	r.ID = state.NewRunID(r.StartedAt)
	row := runRow{Run: r}
	if row.contexts, err = packList(r.Contexts); err != nil {
		return r, err
	}
	err = s.state.Write(ctx, "begin run", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO enrichment_runs (`+begunColumns.Names()+`, undoes)
			VALUES (`+begunColumns.Marks()+`, (SELECT num FROM enrichment_runs WHERE id = ?)) RETURNING num`,
			append(begunColumns.Values(nil, &row), r.Undoes)...).Scan(&r.Num)
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
	return state.Query(ctx, s.state, "list runs", func(rows *sql.Rows) (Run, error) {
		var r runRow
		if err := rows.Scan(runTable.Targets(&r)...); err != nil {
			return r.Run, err
		}
		return r.run()
	}, `SELECT `+runTable.Reads()+` FROM enrichment_runs r LEFT JOIN enrichment_runs u ON u.num = r.undoes `+where, args...)
}

// A runRow is a run as its columns are.
type runRow struct {
	Run
	contexts          string
	started, finished int64 // read; 0: not so far
	credits           sql.Null[float64]
}

// runTable is what is read of a run r and the run u that it takes back, and what is written when it begins.
var runTable = state.Columns[runRow]{
	{Name: "num", Read: "r.num", Into: func(r *runRow) any { return &r.Num }},
	{Name: "id", Read: "r.id", Value: func(r *runRow) any { return r.ID }, Into: func(r *runRow) any { return &r.ID }},
	{Name: "destination", Read: "r.destination", Value: func(r *runRow) any { return r.Destination }, Into: func(r *runRow) any { return &r.Destination }},
	{Name: "command", Read: "r.command", Value: func(r *runRow) any { return r.Command }, Into: func(r *runRow) any { return &r.Command }},
	{Name: "service", Read: "r.service", Value: func(r *runRow) any { return r.Service }, Into: func(r *runRow) any { return &r.Service }},
	{Name: "model", Read: "r.model", Value: func(r *runRow) any { return r.Model }, Into: func(r *runRow) any { return &r.Model }},
	{Name: "contexts", Read: "r.contexts", Value: func(r *runRow) any { return r.contexts }, Into: func(r *runRow) any { return &r.contexts }},
	{Name: "undoes", Read: "coalesce(u.id, '')", Into: func(r *runRow) any { return &r.Undoes }},
	{Name: "started_at", Read: "r.started_at", Value: func(r *runRow) any { return r.StartedAt.UnixMilli() }, Into: func(r *runRow) any { return &r.started }},
	{Name: "finished_at", Read: "coalesce(r.finished_at, 0)", Into: func(r *runRow) any { return &r.finished }},
	{Name: "calls", Read: "r.calls", Into: func(r *runRow) any { return &r.Calls }},
	{Name: "credits", Read: "r.credits", Into: func(r *runRow) any { return &r.credits }},
	{Name: "bytes", Read: "r.bytes", Into: func(r *runRow) any { return &r.Bytes }},
}

var begunColumns = runTable.Only("id", "destination", "command", "service", "model", "contexts", "started_at")

func (r *runRow) run() (Run, error) {
	r.StartedAt = time.UnixMilli(r.started).UTC()
	if r.finished != 0 {
		r.FinishedAt = time.UnixMilli(r.finished).UTC()
	}
	if r.credits.Valid {
		r.Credits = &r.credits.V
	}
	if r.contexts == noContexts {
		return r.Run, nil
	}
	err := unpack(r.contexts, &r.Contexts)
	return r.Run, err
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
