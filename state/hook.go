package state

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"sync/atomic"
)

// A Hook is called before and after each read and write of a store. op is the operation as errors
// name it, or "next row" for each row of a listing. An error before prevents the operation; an
// error after replaces its result, although a write is durable then. If the caller stops at a row,
// there is no call after it.
type Hook func(op string, done bool) error

// nextRow is the op of a Hook for each row of a listing.
const nextRow = "next row"

// SetHook sets the hook of a store, also while others use it; nil removes it. Tests make a store
// fail with it: internal/test/layers ensures that nothing else calls it.
func (s *Store) SetHook(h Hook) {
	if h == nil {
		s.hook.Store(nil)
		return
	}
	s.hook.Store(&h)
}

// A hook contains the Hook of a store, if there is one.
type hook struct{ atomic.Pointer[Hook] }

func (h *hook) ask(op string, done bool) error {
	if f := h.Load(); f != nil {
		return wrap(op, (*f)(op, done))
	}
	return nil
}

func (h *hook) around(op string, do func() error) error {
	if err := h.ask(op, false); err != nil {
		return err
	}
	err := do()
	if hooked := h.ask(op, true); hooked != nil {
		return hooked
	}
	return err
}

// A reader reads on connections of a store.
type reader struct {
	*sql.DB
	hook     *hook
	prepared *sync.Map // statements of often, by their text
}

func newReader(db *sql.DB, h *hook) reader { return reader{db, h, &sync.Map{}} }

// often are the queries that a command asks for each URL of a text. They stay prepared: SQLite parses
// them for longer than it looks for their row.
var often = [...]string{assetURLByKey, assetURLByOldURL}

// QueryContext reads rows as [sql.DB.QueryContext] does.
func (r reader) QueryContext(ctx context.Context, stmt string, args ...any) (*sql.Rows, error) {
	if !slices.Contains(often[:], stmt) {
		return r.DB.QueryContext(ctx, stmt, args...)
	}
	kept, known := r.prepared.Load(stmt)
	if !known {
		made, err := r.PrepareContext(ctx, stmt) // closed with the database
		if err != nil {
			return nil, err
		}
		kept, _ = r.prepared.LoadOrStore(stmt, made)
	}
	return kept.(*sql.Stmt).QueryContext(ctx, args...)
}

// row is QueryRowContext with the name of the operation. The error for no row is sql.ErrNoRows.
func (r reader) row(ctx context.Context, op, stmt string, args ...any) row {
	return row{r, ctx, op, stmt, args}
}

// A row is read when it is scanned.
type row struct {
	r    reader
	ctx  context.Context
	op   string
	stmt string
	args []any
}

func (r row) Scan(dest ...any) error {
	return r.r.hook.around(r.op, func() error {
		return wrap(r.op, interrupted(r.ctx, r.op, r.r.QueryRowContext(r.ctx, r.stmt, r.args...).Scan(dest...)))
	})
}
