package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
	"assetferry/state/actionlog"
)

// logOf returns the entries of the action log.
func logOf(t *testing.T, s *Store) (entries []actionlog.Entry) {
	t.Helper()
	var chain actionlog.Chain
	head, err := s.ReadLog(t.Context(), 0, func(line string) error {
		e, err := chain.Add(line)
		entries = append(entries, e)
		return err
	})
	must(t, err)
	stored, err := s.LogHead(t.Context())
	must(t, err)
	if head != stored || head != chain.Head() {
		t.Errorf("the log ends with %v, %v and %v", head, stored, chain.Head())
	}
	return entries
}

// TestActions verifies that the actions of a run, with the command that acts, are in the log.
func TestActions(t *testing.T) {
	j := begin(t)
	ctx := actionlog.WithActor(t.Context(), actionlog.Actor{Version: "v1", Command: "sync ./photos", Overrides: []string{"--accept-rules"}})
	j.apply("a", "b")
	j.run.PlanHash = "hash"
	must(t, j.OutdateOthers(ctx, j.run, nil))
	must(t, j.OutdateOthers(ctx, j.run, map[Action]int64{Create: 2}))
	_, err := j.Approve(ctx, j.run.Num, Approver{Name: "jo", Key: "SHA256:x"})
	must(t, err)
	_, err = j.Approve(ctx, j.run.Num, Approver{Name: "late", StatedBy: "x"})
	must(t, err)
	must(t, j.NoteSync(ctx, j.run.Num, "", ""))
	must(t, j.NoteSync(ctx, j.run.Num, "too many deletions", ""))
	must(t, j.SaveVerification(ctx, Verification{Pair: j.pair.ID, Source: "photos", Level: "listing", Receipts: 2}, nil))
	must(t, j.Supersede(ctx, j.run.Num))
	var got []string
	for _, e := range logOf(t, j.Store) {
		details, err := json.Marshal(e.Details)
		must(t, err)
		got = append(got, fmt.Sprintf("%d %s %v %s", e.Number, e.Kind, e.Run == j.run.ID, details))
		if e.Command != "sync ./photos" || e.Overrides[0] != "--accept-rules" || e.Account == "" || e.Host == "" || e.StateID != j.id {
			t.Errorf("entry %d: %+v", e.Number, e)
		}
	}
	want := `1 run_started true {"objects":{"create":2},"plan_sha256":"hash"}
2 plan_approved true {"approver":"jo","key":"SHA256:x"}
3 safety_check true null
4 verified false {"assets":2,"contents":0,"differences":0,"level":"listing","source":"photos"}
5 run_abandoned true null`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestLogFails verifies that an action and its entry are stored together or not at all.
func TestLogFails(t *testing.T) {
	j := begin(t)
	must(t, j.NoteSync(t.Context(), j.run.Num, "stopped", ""))
	if err := j.NoteSync(t.Context(), 99, "stopped", ""); err == nil {
		t.Error("a missing run is noted")
	}
	err := j.Write(t.Context(), "test", func(ctx context.Context, tx *sql.Tx) error {
		return changesOne(j.logged(ctx, tx, actionlog.Entry{Kind: actionlog.SafetyCheck}, `UPDATE runs SET stale = ? WHERE num = ?`, 1, 99))
	})
	if err == nil {
		t.Error("a missing run is changed")
	}
	must(t, j.NoteSync(t.Context(), j.run.Num, "stopped", ""))
	if entries := logOf(t, j.Store); len(entries) != 2 {
		t.Errorf("%d entries", len(entries))
	}
}

// TestLogIsProtected verifies that no statement changes an entry, and that the check finds a missing
// trigger.
func TestLogIsProtected(t *testing.T) {
	j := begin(t)
	for range 3 {
		must(t, j.NoteSync(t.Context(), j.run.Num, "stopped", ""))
	}
	for _, stmt := range []string{
		`DELETE FROM action_log`, `DELETE FROM action_log WHERE num = 3`, `UPDATE action_log SET entry = '{}' WHERE num = 1`,
		`UPDATE OR REPLACE action_log SET num = 7 WHERE num = 3`, `INSERT INTO action_log SELECT 5, entry, checksum FROM action_log WHERE num = 1`,
		`INSERT OR REPLACE INTO action_log SELECT 2, entry, checksum FROM action_log WHERE num = 1`,
	} {
		err := j.Write(t.Context(), "test", func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, stmt); return err })
		if err == nil || !strings.Contains(err.Error(), "action log") {
			t.Errorf("%s: %v", stmt, err)
		}
	}
	for _, stmt := range []string{`SELECT 1`, `DROP TRIGGER action_log_keeps`} {
		must(t, j.Write(t.Context(), "test", func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, stmt); return err }))
		problems, err := j.Check(t.Context())
		must(t, err)
		if found := len(problems) > 0; found != strings.HasPrefix(stmt, "DROP") {
			t.Errorf("%s: %v", stmt, problems)
		}
	}
}

// TestTakeoverIsLogged verifies that a change of ownership is in the log, and that copies and
// compaction keep it.
func TestTakeoverIsLogged(t *testing.T) {
	path := t.TempDir() + "/state.db"
	s, err := Open(t.Context(), path)
	must(t, err)
	must(t, s.Close())
	must(t, Takeover(t.Context(), path))
	s = open(t, path)
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	backup, err := s.Backup(t.Context())
	must(t, err)
	copied, err := OpenReadOnly(t.Context(), backup)
	must(t, err)
	defer copied.Close()
	for _, of := range []*Store{s, copied} {
		if entries := logOf(t, of); len(entries) != 1 || entries[0].Kind != actionlog.OwnershipTaken {
			t.Errorf("%+v", entries)
		}
	}
}

// TestChangedRowsAreFound changes rows of the log at random, past its triggers. The check must find
// each change.
func TestChangedRowsAreFound(t *testing.T) {
	j := begin(t)
	const entries = 12
	for range entries {
		must(t, j.NoteSync(t.Context(), j.run.Num, "stopped", ""))
	}
	var create []string
	rows, err := query(t.Context(), j.r, "read triggers", scanText, `SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'action_log'`)
	must(t, err)
	create = append(create, rows...)
	if len(create) != 4 {
		t.Fatalf("%d triggers", len(create))
	}
	random := rand.New(rand.NewPCG(seedtest.Seed(t), 2))
	for range longtest.Size(300, 10000) {
		change := changeOfRows(random, entries)
		tx, err := j.w.BeginTx(t.Context(), nil)
		must(t, err)
		script := append([]string{`DROP TRIGGER action_log_adds; DROP TRIGGER action_log_follows; DROP TRIGGER action_log_keeps; DROP TRIGGER action_log_stays`}, change...)
		for _, stmt := range append(script, create...) {
			_, err := tx.ExecContext(t.Context(), stmt)
			must(t, err)
		}
		problems, err := actionlog.Problems(t.Context(), tx)
		must(t, err)
		if len(problems) == 0 {
			t.Errorf("not found: %s", change)
		}
		must(t, tx.Rollback())
	}
	if problems, err := actionlog.Problems(t.Context(), j.r.DB); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// changeOfRows returns statements that change the log.
func changeOfRows(random *rand.Rand, entries int) []string {
	at := 1 + random.IntN(entries)
	to := 1 + (at+random.IntN(entries-1))%entries
	const flip = `UPDATE action_log SET %[1]s = substr(%[1]s, 1, %[3]d - 1) || CASE substr(%[1]s, %[3]d, 1) WHEN 'a' THEN 'b' ELSE 'a' END || substr(%[1]s, %[3]d + 1) WHERE num = %[2]d`
	switch random.IntN(7) {
	case 0:
		return []string{fmt.Sprintf(strings.Replace(flip, "UPDATE", "PRAGMA ignore_check_constraints = 1; UPDATE", 1), "entry", at, 1+random.IntN(250))}
	case 1:
		return []string{fmt.Sprintf(flip, "checksum", at, 1+random.IntN(64))}
	case 2:
		return []string{fmt.Sprintf(`DELETE FROM action_log WHERE num = %d`, at)}
	case 3: // the following ones move up
		return []string{fmt.Sprintf(`DELETE FROM action_log WHERE num = %[1]d; UPDATE action_log SET num = -num WHERE num > %[1]d; UPDATE action_log SET num = -num - 1 WHERE num < 0`, at),
			fmt.Sprintf(`UPDATE owner SET log_entries = %d`, entries-1)}
	case 4:
		return []string{fmt.Sprintf(`UPDATE action_log SET num = -1 WHERE num = %[1]d; UPDATE action_log SET num = %[1]d WHERE num = %[2]d; UPDATE action_log SET num = %[2]d WHERE num = -1`, at, to)}
	case 5:
		return []string{fmt.Sprintf(`INSERT INTO action_log SELECT %d, entry, checksum FROM action_log WHERE num = %d`, entries+1, at)}
	}
	return []string{`UPDATE owner SET log_head = 'x'`}
}
