package state

import (
	"context"
	"database/sql"
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
	hook *hook
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
