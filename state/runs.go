package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"strings"
	"time"

	"assetferry/sources"
	"assetferry/state/actionlog"
	"assetferry/state/ownership"
)

// A RunState is the state of a run.
type RunState string

// The states of a run. A superseded run was replaced by a newer one before it was finished.
const (
	Scanning   RunState = "scanning"
	Planning   RunState = "planning"
	Planned    RunState = "planned"
	Applying   RunState = "applying"
	Finished   RunState = "finished"
	Superseded RunState = "superseded"
)

// A Run is one plan and its execution, over any number of invocations.
type Run struct {
	Num            int64
	ID             string // the name for people
	Pair           Pair
	Command        string
	State          RunState
	Rules          json.RawMessage
	Cursor         sources.Key // the last key staged
	Scanned        bool        // the listing is complete
	Unchanged      int64       // unchanged objects, which are not staged
	UnchangedBytes int64
	Categories     json.RawMessage // categories to be created, as the plan wrote them
	PlanHash       string
	Stale          bool  // its plan must not be relied on: after a takeover, or see OutdateOthers
	Undoes         int64 // number of the run that this one undoes; 0 if it is no undo
	StartedAt      time.Time
	ListedAt       time.Time // when the listing began
	FinishedAt     time.Time // zero if unfinished
	StartedBy      string    // the account that started it, from OSAccount
	Approver       Approver  // see Approve; zero if none was named
	ApprovedAt     time.Time
	PrunedAt       time.Time // see Prune; zero if it has all its items
	Stopped        string    // why a safety check stopped it, or a part of it
}

// Open reports whether the run can be continued.
func (r Run) Open() bool { return r.State != Finished && r.State != Superseded }

// Begin starts a run. It supersedes earlier plans of the pair, which lose their items; see
// Supersede.
func (s *Store) Begin(ctx context.Context, pair Pair, command string, rules json.RawMessage) (Run, error) {
	r := s.newRun(pair, command, rules)
	err := s.Write(ctx, "begin run", func(ctx context.Context, tx *sql.Tx) error { return insertRun(ctx, tx, &r) })
	return r, err
}

func (s *Store) newRun(pair Pair, command string, rules json.RawMessage) Run {
	now := s.now().UTC().Truncate(time.Millisecond)
	return Run{
		ID: NewRunID(now), Pair: pair, Command: command, State: Scanning, Rules: rules,
		Categories: json.RawMessage("[]"), StartedAt: now, ListedAt: now, StartedBy: ownership.OSAccount(),
	}
}

// insertRun stores a new run and supersedes earlier plans of its pair and wave.
func insertRun(ctx context.Context, tx *sql.Tx, r *Run) error {
	if err := supersedePlans(ctx, tx, r.Pair, r.StartedAt); err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO runs (`+begunColumns.Names()+`) VALUES (`+begunColumns.Marks()+`)`, begunColumns.Values(nil, &runRow{Run: *r})...)
	if err != nil {
		return err
	}
	r.Num, err = res.LastInsertId()
	return err
}

// NewRunID returns an ID of the start time, for people, and a few random letters, which make it
// unique.
func NewRunID(now time.Time) string {
	return now.Format("20060102-1504") + "-" + strings.ToLower(rand.Text()[:5])
}

// supersedePlans ends the runs of a pair that have not begun to apply. Planning them again is safe,
// because nothing was uploaded. Plans of other waves stay.
func supersedePlans(ctx context.Context, tx *sql.Tx, pair Pair, now time.Time) error {
	rows, err := tx.QueryContext(ctx, `UPDATE runs SET state = 'superseded', finished_at = ?
		WHERE pair = ? AND `+ofWave("?3")+` AND state IN ('scanning', 'planning', 'planned') RETURNING num`, now.UnixMilli(), pair.ID, pair.Wave)
	if err != nil {
		return err
	}
	plans, err := scanAll(rows, func(rows *sql.Rows) (num int64, err error) { return num, rows.Scan(&num) })
	if err != nil {
		return err
	}
	for _, num := range plans {
		if err := forgetPlan(ctx, tx, num); err != nil {
			return err
		}
	}
	return nil
}

// forgetPlan deletes the listing and plan of a run that has not begun to apply. A run that was
// applied in part, listed and planned again keeps its uploads and changes: they are incomplete.
func forgetPlan(ctx context.Context, tx *sql.Tx, run int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM inventory WHERE scope = ?`, run); err != nil {
		return err
	}
	var began bool
	if err := tx.QueryRowContext(ctx, `SELECT `+hasBegun+` FROM runs r WHERE num = ?`, run).Scan(&began); err != nil {
		return err
	}
	drop := dropPlan
	if began {
		drop = dropUndone
	}
	if err := drop(ctx, tx, run); err != nil {
		return err
	}
	return tally(ctx, tx, run)
}

// hasBegun selects planned runs with completed items, even if they were listed again since.
const hasBegun = `EXISTS (SELECT 1 FROM tallies WHERE run = r.num AND state = 'done' AND objects > 0)`

// dropPlan drops all items without an outcome; a run that was listed again has items with one. The
// listing is incomplete then, so it must not count as complete.
func dropPlan(ctx context.Context, tx *sql.Tx, run int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM items WHERE run = ? AND `+onBegin.condition(), run); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE runs SET scanned = 0 WHERE num = ?`, run)
	return err
}

// Relist makes a run forget its listing and all planned items, so that it can be listed again under
// its ID. Outcomes stay, and so do the previous states of assets that the run may have changed.
// Items scheduled for retry count as failed once more.
func (s *Store) Relist(ctx context.Context, run int64) error {
	return s.Write(ctx, "relist", func(ctx context.Context, tx *sql.Tx) error {
		if err := One(ctx, tx, `UPDATE runs SET state = 'scanning', cursor = '', scanned = 0, unchanged = 0,
			unchanged_bytes = 0, stale = 0, listed_at = ? WHERE num = ? AND state NOT IN ('finished', 'superseded')
			AND NOT EXISTS (SELECT 1 FROM items WHERE run = num AND `+inFlight+` AND items.state <> 'retry_scheduled')`,
			s.now().UnixMilli(), run); err != nil {
			return err
		}
		for _, step := range []func(context.Context, *sql.Tx, int64) error{countScheduledFailures, forgetFormer} {
			if err := step(ctx, tx, run); err != nil {
				return err
			}
		}
		for _, stmt := range []string{`DELETE FROM items WHERE run = ? AND ` + onRelist.condition(), `DELETE FROM inventory WHERE scope = ?`} {
			if _, err := tx.ExecContext(ctx, stmt, run); err != nil {
				return err
			}
		}
		return untally(ctx, tx, run)
	})
}

// OutdateOthers records that a pair is about to write to its destination. Unfinished runs of other
// pairs and waves there were planned before, and must be listed again before they continue: it may
// be the same library. The action log then says that the run starts or resumes, with the objects
// that it has left by their actions. A run without any is not in the log.
func (s *Store) OutdateOthers(ctx context.Context, run Run, left map[Action]int64) error {
	pair, starts := run.Pair, actionlog.Entry{}
	if len(left) > 0 {
		starts = actionlog.Entry{Kind: actionlog.RunStarted, Run: run.ID, Details: actionlog.Details{"plan_sha256": run.PlanHash, "objects": left}}
	}
	return s.Write(ctx, "mark other runs as stale", func(ctx context.Context, tx *sql.Tx) error {
		_, err := s.logged(ctx, tx, starts, `UPDATE runs SET stale = 1 WHERE state = 'applying' AND (pair <> ? OR wave <> ?)
			AND pair IN (SELECT id FROM pairs WHERE destination = ?)`, pair.ID, pair.Wave, pair.Destination)
		return err
	})
}

// Supersede ends a run that must not be continued. Items scheduled for retry fail, and planned
// uploads, changes and moves stay planned for CountIncomplete. Nothing of an undo stays planned. A
// run that is not being applied keeps outcomes only, unless it was applied in part before it was
// planned again. It fails with ErrConflict while an item is unconfirmed.
func (s *Store) Supersede(ctx context.Context, run int64) error {
	return s.Write(ctx, "supersede run", func(ctx context.Context, tx *sql.Tx) error {
		if err := supersede(ctx, tx, run, s.now()); err != nil {
			return err
		}
		return s.logRun(ctx, tx, actionlog.RunAbandoned, run, nil)
	})
}

// logRun adds an entry about a run to the action log.
func (s *Store) logRun(ctx context.Context, tx *sql.Tx, kind actionlog.Kind, run int64, details actionlog.Details) error {
	e := actionlog.Entry{Kind: kind, Details: details}
	if err := tx.QueryRowContext(ctx, `SELECT id FROM runs WHERE num = ?`, run).Scan(&e.Run); err != nil {
		return err
	}
	return s.LogAction(ctx, tx, e)
}

func supersede(ctx context.Context, tx *sql.Tx, run int64, now time.Time) error {
	applying, err := isIn(ctx, tx, run, Applying)
	if err != nil {
		return err
	}
	steps := []func(context.Context, *sql.Tx, int64) error{failScheduled, dropUndone}
	if !applying {
		steps = []func(context.Context, *sql.Tx, int64) error{forgetPlan}
	}
	for _, step := range steps {
		if err := step(ctx, tx, run); err != nil {
			return err
		}
	}
	if err := One(ctx, tx, `UPDATE runs SET state = 'superseded', finished_at = ?
		WHERE num = ? AND state NOT IN ('finished', 'superseded')
		AND NOT EXISTS (SELECT 1 FROM items WHERE run = num AND `+inFlight+` AND items.state <> 'retry_scheduled')`,
		now.UnixMilli(), run); err != nil {
		return err
	}
	return tally(ctx, tx, run)
}

// failScheduled fails the items of a run that are scheduled for retry.
func failScheduled(ctx context.Context, tx *sql.Tx, run int64) error {
	if err := countScheduledFailures(ctx, tx, run); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE items SET state = 'failed', retry_at = NULL WHERE run = ? AND `+onGiveUp.condition(), run)
	return err
}

// dropUndone deletes the items that a run has not reached, except uploads and changes from the
// source: undecided items, planned trashing, and all items of an undo.
func dropUndone(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM items WHERE run = ? AND `+onSupersede.condition(), run)
	return err
}

// SetRunState moves a run from one state to the next.
func (s *Store) SetRunState(ctx context.Context, run int64, from, to RunState) error {
	return s.Write(ctx, "set run state", func(ctx context.Context, tx *sql.Tx) error {
		return One(ctx, tx, `UPDATE runs SET state = ? WHERE num = ? AND state = ?`, to, run, from)
	})
}

// StartUndo moves an undo from its plan to its changes.
func (s *Store) StartUndo(ctx context.Context, undo Run) error {
	return s.Write(ctx, "start undo", func(ctx context.Context, tx *sql.Tx) error {
		var undone string
		if err := tx.QueryRowContext(ctx, `SELECT id FROM runs WHERE num = ?`, undo.Undoes).Scan(&undone); err != nil {
			return err
		}
		starts := actionlog.Entry{Kind: actionlog.UndoStarted, Run: undo.ID, Details: actionlog.Details{"undoes": undone, "plan_sha256": undo.PlanHash}}
		return changesOne(s.logged(ctx, tx, starts, `UPDATE runs SET state = ? WHERE num = ? AND state = ?`, Applying, undo.Num, Planned))
	})
}

// FinishPlan records the outcome of planning. It counts the items of the run, unless the caller has
// done so and passes their tallies.
func (s *Store) FinishPlan(ctx context.Context, run int64, hash string, categories json.RawMessage, counted ...Tally) error {
	return s.Write(ctx, "finish plan", func(ctx context.Context, tx *sql.Tx) error {
		if err := noteNamesakes(ctx, tx, run); err != nil {
			return err
		}
		// An asset in the place of an object that is created next to it distinguishes the two if
		// the answer is lost.
		if _, err := tx.ExecContext(ctx, `DELETE FROM inventory WHERE scope = ?1 AND slot NOT IN
			(SELECT slot FROM items WHERE run = ?1 AND state = 'planned' AND action = 'create')`, run); err != nil {
			return err
		}
		if err := saveTallies(ctx, tx, run, counted); err != nil {
			return err
		}
		return One(ctx, tx, `UPDATE runs SET state = 'planned', plan_hash = ?, categories = ?
			WHERE num = ? AND state = 'planning'`, hash, string(categories), run)
	})
}

// FinishRun ends a run without unfinished items.
func (s *Store) FinishRun(ctx context.Context, run int64) error {
	return s.Write(ctx, "finish run", func(ctx context.Context, tx *sql.Tx) error {
		return finishRun(ctx, tx, run, s.now())
	})
}

func finishRun(ctx context.Context, tx *sql.Tx, run int64, now time.Time) error {
	if err := resolveSidecars(ctx, tx, run); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM inventory WHERE scope = ?`, run); err != nil {
		return err
	}
	return One(ctx, tx, `UPDATE runs SET state = 'finished', finished_at = ? WHERE num = ? AND state = 'applying'
		AND NOT EXISTS (SELECT 1 FROM items WHERE run = num AND `+inFlight+`)
		AND NOT EXISTS (SELECT 1 FROM items WHERE run = num AND state = 'planned')`,
		now.UnixMilli(), run)
}

// A runRow is a run with its pair as their columns are.
type runRow struct {
	Run
	rules, categories                                 string
	startedAt, listedAt, finishedAt, approved, pruned int64 // 0: not so far
}

// runTable has the columns of a run r and its pair p, and those to write when it begins.
var runTable = Columns[runRow]{
	{Name: "num", Read: "r.num", Into: func(r *runRow) any { return &r.Num }},
	{Name: "id", Read: "r.id", Value: func(r *runRow) any { return r.ID }, Into: func(r *runRow) any { return &r.ID }},
	{Name: "pair", Read: "p.id", Value: func(r *runRow) any { return r.Pair.ID }, Into: func(r *runRow) any { return &r.Pair.ID }},
	{Name: "source", Read: "p.source", Into: func(r *runRow) any { return &r.Pair.Source }},
	{Name: "destination", Read: "p.destination", Into: func(r *runRow) any { return &r.Pair.Destination }},
	{Name: "url", Read: "p.url", Into: func(r *runRow) any { return &r.Pair.URL }},
	{Name: "sandbox", Read: purposeColumn, Into: func(r *runRow) any { return &r.Pair.Purpose }},
	{Name: "forgotten", Read: "p.forgotten", Into: func(r *runRow) any { return &r.Pair.Forgotten }},
	{Name: "wave", Read: "r.wave", Value: func(r *runRow) any { return r.Pair.Wave }, Into: func(r *runRow) any { return &r.Pair.Wave }},
	{Name: "command", Read: "r.command", Value: func(r *runRow) any { return r.Command }, Into: func(r *runRow) any { return &r.Command }},
	{Name: "state", Read: "r.state", Value: func(r *runRow) any { return string(r.State) }, Into: func(r *runRow) any { return &r.State }},
	{Name: "rules", Read: "r.rules", Value: func(r *runRow) any { return string(r.Rules) }, Into: func(r *runRow) any { return &r.rules }},
	{Name: "cursor", Read: "r.cursor", Into: func(r *runRow) any { return &r.Cursor }},
	{Name: "scanned", Read: "r.scanned", Into: func(r *runRow) any { return &r.Scanned }},
	{Name: "unchanged", Read: "r.unchanged", Into: func(r *runRow) any { return &r.Unchanged }},
	{Name: "unchanged_bytes", Read: "r.unchanged_bytes", Into: func(r *runRow) any { return &r.UnchangedBytes }},
	{Name: "categories", Read: "r.categories", Into: func(r *runRow) any { return &r.categories }},
	{Name: "plan_hash", Read: "r.plan_hash", Into: func(r *runRow) any { return &r.PlanHash }},
	{Name: "stale", Read: "r.stale", Into: func(r *runRow) any { return &r.Stale }},
	{Name: "undoes", Read: "coalesce(r.undoes, 0)", Value: func(r *runRow) any { return unlessZero(r.Undoes) }, Into: func(r *runRow) any { return &r.Undoes }},
	{Name: "started_at", Read: "r.started_at", Value: func(r *runRow) any { return r.StartedAt.UnixMilli() }, Into: func(r *runRow) any { return &r.startedAt }},
	{Name: "listed_at", Read: "r.listed_at", Value: func(r *runRow) any { return r.ListedAt.UnixMilli() }, Into: func(r *runRow) any { return &r.listedAt }},
	{Name: "finished_at", Read: "coalesce(r.finished_at, 0)", Into: func(r *runRow) any { return &r.finishedAt }},
	{Name: "started_by", Read: "r.started_by", Value: func(r *runRow) any { return r.StartedBy }, Into: func(r *runRow) any { return &r.StartedBy }},
	{Name: "approved_by", Read: "r.approved_by", Into: func(r *runRow) any { return &r.Approver.Name }},
	{Name: "approval_stated_by", Read: "r.approval_stated_by", Into: func(r *runRow) any { return &r.Approver.StatedBy }},
	{Name: "approval_key", Read: "r.approval_key", Into: func(r *runRow) any { return &r.Approver.Key }},
	{Name: "approved_at", Read: "coalesce(r.approved_at, 0)", Into: func(r *runRow) any { return &r.approved }},
	{Name: "stopped", Read: "r.stopped", Into: func(r *runRow) any { return &r.Stopped }},
	{Name: "pruned_at", Read: "coalesce(r.pruned_at, 0)", Into: func(r *runRow) any { return &r.pruned }},
}

// The columns and statements of runs.
var (
	begunColumns = runTable.Only("id", "pair", "wave", "command", "state", "rules", "undoes", "started_at", "listed_at", "started_by")
	runColumns   = runTable.Reads() + ` FROM runs r JOIN pairs p ON p.id = r.pair`
)

func scanRun(rows *sql.Rows) (Run, error) {
	var row runRow
	err := rows.Scan(runTable.Targets(&row)...)
	r := row.Run
	r.Rules, r.Categories = json.RawMessage(row.rules), json.RawMessage(row.categories)
	r.StartedAt, r.ListedAt = fromMillis(row.startedAt), fromMillis(row.listedAt)
	if row.finishedAt != 0 {
		r.FinishedAt = fromMillis(row.finishedAt)
	}
	if row.approved != 0 {
		r.ApprovedAt = fromMillis(row.approved)
	}
	if row.pruned != 0 {
		r.PrunedAt = fromMillis(row.pruned)
	}
	return r, err
}

// unlessZero returns a number for storage, nil for 0.
func unlessZero(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// Run finds a run by its id; ErrNotFound if there is none.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	runs, err := query(ctx, s.r, "find run", scanRun, `SELECT `+runColumns+` WHERE r.id = ?`, id)
	return First(runs, err, "run "+id)
}

// hasItems selects runs that have items, or had them until they were pruned.
const hasItems = `(EXISTS (SELECT 1 FROM items WHERE run = r.num) OR EXISTS (SELECT 1 FROM tallies WHERE run = r.num AND objects > 0))`

// RunsOf lists the newest runs of a pair, newest first, without superseded plans. A plan that a
// safety check stopped is listed in any case.
func (s *Store) RunsOf(ctx context.Context, pair int64, limit int) ([]Run, error) {
	return query(ctx, s.r, "list runs", scanRun, `SELECT `+runColumns+` WHERE r.pair = ?
		AND (r.state <> 'superseded' OR r.stopped <> '' AND r.command <> 'plan' OR `+hasItems+`)
		ORDER BY r.num DESC LIMIT ?`, pair, limit)
}

// LastApplied returns the newest run of a pair and its wave that was more than a plan, including
// superseded ones; ErrNotFound if there is none. Without a wave, it is that of any wave.
func (s *Store) LastApplied(ctx context.Context, pair Pair) (Run, error) {
	runs, err := query(ctx, s.r, "find run", scanRun, `SELECT `+runColumns+`
		WHERE r.pair = ?1 AND `+ofWave("?2")+` AND (r.state IN ('applying', 'finished') OR r.state = 'superseded'
		AND `+hasItems+`) ORDER BY r.num DESC LIMIT 1`, pair.ID, pair.Wave)
	return First(runs, err, "run")
}

// Unfinished returns the newest run of the pair that is more than a plan and can be resumed;
// ErrNotFound if there is none. A run of the whole source is unfinished for each wave, and a run of
// a wave for the whole source. Runs that are being applied come first.
func (s *Store) Unfinished(ctx context.Context, pair Pair) (Run, error) {
	runs, err := query(ctx, s.r, "find unfinished run", scanRun,
		`SELECT `+runColumns+` WHERE r.pair = ?1 AND (?2 = '' OR r.wave IN ('', ?2)) AND r.state NOT IN ('finished', 'superseded')
		AND r.command <> 'plan' ORDER BY r.state = 'applying' DESC, r.num DESC LIMIT 1`, pair.ID, pair.Wave)
	return First(runs, err, "unfinished run")
}

// ofWave selects runs of the wave in a parameter, or all if it is empty.
func ofWave(parameter string) string { return `(` + parameter + ` = '' OR wave = ` + parameter + `)` }

// UnfinishedElsewhere lists the runs of a pair that are being applied for other waves.
func (s *Store) UnfinishedElsewhere(ctx context.Context, pair Pair) ([]Run, error) {
	return query(ctx, s.r, "find unfinished runs of other waves", scanRun,
		`SELECT `+runColumns+` WHERE r.pair = ? AND r.wave <> ? AND r.state = 'applying' ORDER BY r.num`, pair.ID, pair.Wave)
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// An Approver is the person who approved a plan. Key is the fingerprint of the signing key. Without
// a signature, the name is only a statement of the account in StatedBy.
type Approver struct {
	Name, StatedBy, Key string
}

// SetApprovedPlan stores the hash of the approved plan of a run, once, before the run lists
// anything.
func (s *Store) SetApprovedPlan(ctx context.Context, run int64, hash string) error {
	return s.Write(ctx, "save hash of approved plan", func(ctx context.Context, tx *sql.Tx) error {
		return One(ctx, tx, `UPDATE runs SET plan_hash = ? WHERE num = ? AND state = 'scanning' AND plan_hash = ''`, hash, run)
	})
}

// Approve stores the approver of a run and the current time. The first approver stays, but a
// signature replaces a statement. It reports whether the approver was stored.
func (s *Store) Approve(ctx context.Context, run int64, by Approver) (noted bool, err error) {
	err = s.Write(ctx, "note approval", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE runs SET approved_by = ?, approval_stated_by = ?, approval_key = ?, approved_at = ?
			WHERE num = ? AND (approved_at IS NULL OR approval_key = '' AND ? <> '')`,
			by.Name, by.StatedBy, by.Key, s.now().UnixMilli(), run, by.Key)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if noted = n == 1; err != nil || !noted {
			return err
		}
		details := actionlog.Details{"approver": by.Name}
		if by.Key != "" {
			details["key"] = by.Key
		} else {
			details["stated_by"] = by.StatedBy
		}
		return s.logRun(ctx, tx, actionlog.PlanApproved, run, details)
	})
	return noted, err
}
