package faults_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"reflect"
	"slices"
	"testing"

	"assetferry/internal/test/faults"
	"assetferry/migrate"
	"assetferry/state"
)

// What is not listed here passes by unharmed, and no sweep would notice.
func TestEveryMethodOfTheJournalCanFail(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "journal.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var can []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			can = append(can, f.Name.Name)
		}
	}
	for m := range reflect.TypeFor[migrate.Journal]().Methods() {
		if !slices.Contains(can, m.Name) && m.Type.NumOut() > 0 {
			t.Errorf("%s cannot fail", m.Name)
		}
	}
}

// A counting journal knows how often it was asked.
type counting struct {
	migrate.Journal
	finished int
}

func (c *counting) FinishRun(context.Context, int64) error { c.finished++; return nil }

func (c *counting) Items(context.Context, int64, ...state.ItemState) iter.Seq2[state.Item, error] {
	return func(yield func(state.Item, error) bool) {
		for range 3 {
			if !yield(state.Item{}, nil) {
				return
			}
		}
	}
}

func TestJournalFailsOnce(t *testing.T) {
	for n, want := range []struct{ finished, rows int }{{2, 1}, {3, 2}} {
		kind := faults.JournalKinds()[n]
		c := &counting{}
		j := &faults.Journal{Journal: c, Moment: faults.At(1), Kind: kind}
		for call := range 3 {
			if err := j.FinishRun(t.Context(), 1); errors.Is(err, faults.Err) != (call == 1) {
				t.Errorf("%s: call %d: got %v", kind.Name, call, err)
			}
		}
		if c.finished != want.finished {
			t.Errorf("%s: got %d calls through, want %d", kind.Name, c.finished, want.finished)
		}
		j.Moment = faults.At(1)
		rows, failed := 0, 0
		for _, err := range j.Items(t.Context(), 1) {
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

// A fault after a row comes only if somebody listens on.
func TestUnheardFaultDoesNotCome(t *testing.T) {
	for n, want := range []bool{true, false} {
		kind := faults.JournalKinds()[n]
		j := &faults.Journal{Journal: &counting{}, Moment: faults.At(0), Kind: kind}
		for range j.Items(t.Context(), 1) {
			break
		}
		if j.Came() != want {
			t.Errorf("%s: came %v, want %v", kind.Name, j.Came(), want)
		}
	}
}
