package state

import (
	"context"
	"database/sql"
	"time"
)

// An EnrichmentRun is one invocation of a command that asks the AI content service, or that
// writes what it proposed.
type EnrichmentRun struct {
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

// BeginEnrichment begins a run and gives it its number and id.
func (s *Store) BeginEnrichment(ctx context.Context, r EnrichmentRun) (EnrichmentRun, error) {
	r.StartedAt = s.now().UTC().Truncate(time.Millisecond)
	r.ID = runID(r.StartedAt)
	contexts, err := packList(r.Contexts)
	if err != nil {
		return r, err
	}
	err = s.write(ctx, "begin run", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO enrichment_runs (id, destination, command, service, model, contexts, undoes, started_at)
			VALUES (?, ?, ?, ?, ?, ?, (SELECT num FROM enrichment_runs WHERE id = ?), ?) RETURNING num`,
			r.ID, r.Destination, r.Command, r.Service, r.Model, contexts, r.Undoes, r.StartedAt.UnixMilli()).Scan(&r.Num)
	})
	return r, err
}

// FinishEnrichment notes that a run came to its end, and what it cost; credits are nil if
// that is not known.
func (s *Store) FinishEnrichment(ctx context.Context, run int64, credits *float64) error {
	return s.write(ctx, "finish run", func(ctx context.Context, tx *sql.Tx) error {
		return one(ctx, tx, `UPDATE enrichment_runs SET finished_at = ?, credits = ? WHERE num = ? AND finished_at IS NULL`,
			s.now().UnixMilli(), credits, run)
	})
}

// EnrichmentRun finds a run by its id; ErrNotFound if there is none.
func (s *Store) EnrichmentRun(ctx context.Context, id string) (EnrichmentRun, error) {
	runs, err := s.enrichmentRuns(ctx, `WHERE r.id = ?`, id)
	return first(runs, err, "run "+id)
}

// EnrichmentRuns lists the runs of a destination, or of all if it is empty, the newest first
// and at most so many.
func (s *Store) EnrichmentRuns(ctx context.Context, destination string, limit int) ([]EnrichmentRun, error) {
	return s.enrichmentRuns(ctx, `WHERE ? IN ('', r.destination) ORDER BY r.num DESC LIMIT ?`, destination, limit)
}

func (s *Store) enrichmentRuns(ctx context.Context, where string, args ...any) ([]EnrichmentRun, error) {
	return query(ctx, s.r, "list runs", func(rows *sql.Rows) (r EnrichmentRun, err error) {
		var started, finished int64
		var credits sql.Null[float64]
		var contexts string
		err = rows.Scan(&r.Num, &r.ID, &r.Destination, &r.Command, &r.Service, &r.Model, &contexts, &r.Undoes, &started, &finished, &r.Calls, &credits, &r.Bytes)
		r.StartedAt = fromMillis(started)
		if finished != 0 {
			r.FinishedAt = fromMillis(finished)
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

// An EnrichmentCost is what former calls to a service cost.
type EnrichmentCost struct {
	Calls   int64 // that were billed
	Credits float64
	Took    time.Duration // of the runs, from begin to end
}

// EnrichmentCost sums up the finished runs of a command that know their credits, the last
// 20 of them. Without any it is zero.
func (s *Store) EnrichmentCost(ctx context.Context, service, command string) (c EnrichmentCost, err error) {
	const op = "sum up costs"
	var took int64
	err = s.r.row(ctx, op, `SELECT coalesce(sum(calls), 0), coalesce(sum(credits), 0), coalesce(sum(finished_at - started_at), 0) FROM
		(SELECT calls, credits, finished_at, started_at FROM enrichment_runs WHERE service = ? AND command = ? AND finished_at IS NOT NULL
			AND credits IS NOT NULL AND calls > 0 ORDER BY num DESC LIMIT 20)`, service, command).Scan(&c.Calls, &c.Credits, &took)
	c.Took = time.Duration(took) * time.Millisecond
	return c, err
}
