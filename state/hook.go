package state

import (
	"context"
	"database/sql"
	"sync/atomic"
)

// A Hook is asked before and after each reading and writing of a store, with what the store does:
// the words that errors name it by, or "next row" for a row of a listing, which is read by the page
// and comes one at a time. An error before has it not done; one after is given in place of what came
// of it, which for a writing is durable then. A row whose reader stops there has no after.
type Hook func(op string, done bool) error

// nextRow is what a Hook is asked about each row of a listing.
const nextRow = "next row"

// SetHook has the store ask a hook from now on, also while others use it; nil ends that. It is how
// tests make a store fail: internal/test/layers holds that nothing else calls it.
func (s *Store) SetHook(h Hook) {
	if h == nil {
		s.hook.Store(nil)
		return
	}
	s.hook.Store(&h)
}

// A hook is where the Hook of a store is, if it has one.
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

// row is QueryRowContext with what read is for; no row is an sql.ErrNoRows.
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
