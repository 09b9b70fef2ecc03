package state

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"assetferry/sources"
)

var errHook = errors.New("a fault made by a test")

// TestHook verifies that the hook is called before and after each operation of a store, and that
// its error fails the operation.
func TestHook(t *testing.T) {
	j := begin(t)
	s, run := j.Store, j.run
	if err := s.Stage(t.Context(), run.Num, Page{Items: []Item{{Object: sources.Object{Key: "a"}, State: ItemStaged}, {Object: sources.Object{Key: "b"}, State: ItemStaged}}}); err != nil {
		t.Fatal(err)
	}
	var asked []string
	fail := func(op string, when bool) {
		asked = nil
		s.SetHook(func(o string, done bool) error {
			asked = append(asked, o)
			if o == op && done == when {
				return errHook
			}
			return nil
		})
	}
	count := func() (rows int, err error) {
		for _, e := range s.Items(t.Context(), run.Num) {
			if e != nil {
				return rows, e
			}
			rows++
		}
		return rows, nil
	}
	for _, when := range []bool{false, true} {
		want := map[bool]int{false: 0, true: 1}[when]
		fail(nextRow, when)
		if rows, err := count(); rows != want || !errors.Is(err, errHook) {
			t.Errorf("row, done %v: got %d rows and %v, want %d and a fault", when, rows, err, want)
		}
		fail("list items", when)
		if rows, err := count(); rows != 0 || !errors.Is(err, errHook) {
			t.Errorf("page, done %v: got %d rows and %v, want a fault", when, rows, err)
		}
		fail("find drift cursor", when)
		if _, err := s.DriftCursor(t.Context(), run.Pair); !errors.Is(err, errHook) {
			t.Errorf("row alone, done %v: got %v, want a fault", when, err)
		}
		fail("set run state", when)
		if err := s.SetRunState(t.Context(), run.Num, Scanning, Planning); !errors.Is(err, errHook) {
			t.Errorf("write, done %v: got %v, want a fault", when, err)
		}
		s.SetHook(nil)
		if r, err := s.Run(t.Context(), run.ID); err != nil || (r.State == Planning) != when {
			t.Errorf("write, done %v: the run is %s (%v)", when, r.State, err)
		}
	}
	fail("", false)
	if rows, err := count(); rows != 2 || err != nil {
		t.Errorf("got %d rows and %v, want 2", rows, err)
	}
	if want := []string{"list items", "list items", nextRow, nextRow, nextRow, nextRow}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
}

// TestHookOfAnUnheardRow verifies that after a caller has stopped reading a listing, the hook is
// not called for the end of the row: its error could not be reported.
func TestHookOfAnUnheardRow(t *testing.T) {
	j := begin(t)
	s, run := j.Store, j.run
	if err := s.Stage(t.Context(), run.Num, Page{Items: []Item{{Object: sources.Object{Key: "a"}, State: ItemStaged}}}); err != nil {
		t.Fatal(err)
	}
	var after int
	s.SetHook(func(op string, done bool) error {
		if op == nextRow && done {
			after++
		}
		return nil
	})
	for range s.Items(t.Context(), run.Num) {
		break
	}
	if after != 0 {
		t.Error("the hook was asked about a row after which nobody listened")
	}
}

// TestHookOfSpooledRows verifies that the hook is also called for the rows of a spooled query.
func TestHookOfSpooledRows(t *testing.T) {
	s := newStore(t)
	scan := func(rows *sql.Rows) (n int, err error) { return n, rows.Scan(&n) }
	s.SetHook(func(op string, done bool) error {
		if op == nextRow && done {
			return errHook
		}
		return nil
	})
	rows, failed := 0, error(nil)
	for _, err := range spooled(context.Background(), s.r, "spool", scan, `SELECT 1 UNION ALL SELECT 2`) {
		if failed = err; err == nil {
			rows++
		}
	}
	if rows != 1 || !errors.Is(failed, errHook) {
		t.Errorf("got %d rows and %v, want 1 and a fault", rows, failed)
	}
}

// TestHookOfASpooledQuery verifies that a spooled query that fails leaves no temporary table, and
// that it ends when its reader stops.
func TestHookOfASpooledQuery(t *testing.T) {
	s := newStore(t)
	scan := func(rows *sql.Rows) (n int, err error) { return n, rows.Scan(&n) }
	all := spooled(t.Context(), s.r, "spool", scan, `SELECT 1 UNION ALL SELECT 2`)
	for _, when := range []bool{false, true} {
		s.SetHook(func(op string, done bool) error {
			if op == "spool" && done == when {
				return errHook
			}
			return nil
		})
		rows, failed := 0, 0
		for _, err := range all {
			if rows++; errors.Is(err, errHook) {
				failed++
			}
		}
		if rows != 1 || failed != 1 {
			t.Errorf("done %v: got %d rows, %d of them faults, want one fault", when, rows, failed)
		}
	}
	first := true
	s.SetHook(func(_ string, done bool) error {
		if first {
			return nil
		}
		return errHook
	})
	for _, err := range all {
		if first = false; err != nil {
			t.Errorf("got %v", err)
		}
		break
	}
}
