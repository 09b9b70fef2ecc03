package faults_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"assetferry/internal/test/faults"
	"assetferry/sources"
	"assetferry/state"
)

// newState returns a state database with a run of three objects.
func newState(t *testing.T) (*state.Store, state.Run) {
	t.Helper()
	s, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	pair, err := s.Pair(t.Context(), "source", "destination", "")
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Begin(t.Context(), pair, "migrate", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	var page state.Page
	for _, key := range []sources.Key{"a", "b", "c"} {
		page.Items = append(page.Items, state.Item{Object: sources.Object{Key: key}, State: state.ItemStaged})
	}
	if err := s.Stage(t.Context(), run.Num, page); err != nil {
		t.Fatal(err)
	}
	return s, run
}

func TestStateDatabaseFailsOnce(t *testing.T) {
	for n, want := range []struct{ saved, rows int }{{2, 1}, {3, 2}} {
		kind := faults.StateFaults()[n]
		s, run := newState(t)
		s.SetHook(kind.Hook(faults.At(1)))
		for call := range 3 {
			err := s.SaveChoices(t.Context(), "destination", map[string]string{fmt.Sprint(call): "category"})
			if errors.Is(err, faults.Err) != (call == 1) {
				t.Errorf("%s: call %d: got %v", kind.Name, call, err)
			}
		}
		s.SetHook(nil)
		if saved, err := s.Choices(t.Context(), "destination"); err != nil || len(saved) != want.saved {
			t.Errorf("%s: got %d calls through (%v), want %d", kind.Name, len(saved), err, want.saved)
		}
		s.SetHook(kind.Hook(faults.At(2))) // the query comes before the rows
		rows, failed := 0, 0
		for _, err := range s.Items(t.Context(), run.Num) {
			if err == nil {
				rows++
			} else {
				failed++
			}
		}
		if rows != want.rows || failed != 1 {
			t.Errorf("%s: got %d rows and %d errors, want %d and 1", kind.Name, rows, failed, want.rows)
		}
	}
}

// TestUnheardFaultDoesNotCome verifies that a fault after a row counts only if the caller reads on.
func TestUnheardFaultDoesNotCome(t *testing.T) {
	for n, want := range []bool{true, false} {
		kind := faults.StateFaults()[n]
		s, run := newState(t)
		at := faults.At(1) // the first row
		s.SetHook(kind.Hook(at))
		for range s.Items(t.Context(), run.Num) {
			break
		}
		if at.Came() != want {
			t.Errorf("%s: came %v, want %v", kind.Name, at.Came(), want)
		}
	}
}
