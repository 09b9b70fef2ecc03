package state

import (
	"context"
	"database/sql"
	"iter"
	"time"
)

// What is exported here, and [Store.Write], is for the packages below this one, which keep tables of
// their own in the same file. No others can use it: internal/test/layers leaves SQL to these.

// Query collects the rows of a statement that reads; it is for results of bounded size. What it is
// for is named in errors.
func Query[T any](ctx context.Context, s *Store, what string, scan func(*sql.Rows) (T, error), stmt string, args ...any) ([]T, error) {
	return query(ctx, s.r, what, scan, stmt, args...)
}

// Paged makes one sequence out of pages of PageSize rows that each begin after the place of the last row
// of the page before.
func Paged[T, C any](s *Store, after C, at func(T) C, page func(after C) ([]T, error)) iter.Seq2[T, error] {
	return paged(s.r, after, at, page)
}

// Now is the time by which a store notes when something was done.
func (s *Store) Now() time.Time { return s.now() }
