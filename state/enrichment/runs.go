package enrichment

import (
	"context"
	"database/sql"
	"time"

	"assetferry/state"
	"assetferry/state/actionlog"
)

// A Run is one run of a command that sends requests to the AI content service, or writes
// proposals.
type Run struct {
	Num         int64
	ID          string // for people
	Destination string
	Command     string // describe, review, translate, apply, undo
	Service     string // host of the AI content service; "" if not used
	Model       string
	Contexts    []string // contexts in requests, as people write them
	Undoes      string   // ID of the run that this one undoes
	StartedAt   time.Time
	FinishedAt  time.Time // zero until the end
	Calls       int64     // billed requests
	Credits     *float64  // nil if the service does not report them
	Bytes       int64     // of images sent
}

// noContexts is the stored value of a run without contexts.
const noContexts = "[]"

// BeginRun starts a run with a new number and ID.
func (s *Store) BeginRun(ctx context.Context, r Run) (_ Run, err error) {
	r.StartedAt = s.state.Now().UTC().Truncate(time.Millisecond)
	r.ID = state.NewRunID(r.StartedAt)
	row := runRow{Run: r}
	if row.contexts, err = packList(r.Contexts); err != nil {
		return r, err
	}
	err = s.state.Write(ctx, "begin run", func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `INSERT INTO enrichment_runs (`+begunColumns.Names()+`, undoes)
			VALUES (`+begunColumns.Marks()+`, (SELECT num FROM enrichment_runs WHERE id = ?)) RETURNING num`,
			append(begunColumns.Values(nil, &row), r.Undoes)...).Scan(&r.Num)
		if err != nil {
			return err
		}
		return s.state.LogAction(ctx, tx, actionlog.Entry{Kind: actionlog.EnrichmentStarted, Run: r.ID})
	})
	return r, err
}

// FinishRun stores the end of a run and its cost; credits are nil if unknown.
func (s *Store) FinishRun(ctx context.Context, run int64, credits *float64) error {
	return s.state.Write(ctx, "finish run", func(ctx context.Context, tx *sql.Tx) error {
		return state.One(ctx, tx, `UPDATE enrichment_runs SET finished_at = ?, credits = ? WHERE num = ? AND finished_at IS NULL`,
			s.state.Now().UnixMilli(), credits, run)
	})
}

// Run returns a run by its ID, or ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	runs, err := s.runs(ctx, `WHERE r.id = ?`, id)
	return state.First(runs, err, "run "+id)
}

// Runs lists at most limit runs of a destination, or of all destinations, newest first.
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

// A runRow is a run as a row.
type runRow struct {
	Run
	contexts          string
	started, finished int64 // 0: not yet
	credits           sql.Null[float64]
}

// runTable contains the columns of a run r and of the run u that it undoes.
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

// A Cost is the cost of earlier requests to a service.
type Cost struct {
	Calls   int64 // billed requests
	Credits float64
	Took    time.Duration // duration of the runs
}

// Cost sums up the last 20 finished runs of a command with known credits. Without any it is
// zero.
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
