package state

import "context"

// Known is what the journal knows of a pair, in numbers of objects.
type Known struct {
	Objects int64 // whose assets are at the destination
	Orphans int64 // see Orphan
	Failing int64 // see Failure
}

// Known counts what the journal knows of a pair.
func (s *Store) Known(ctx context.Context, pair int64) (k Known, err error) {
	err = s.r.row(ctx, "count what is known", `SELECT objects, (SELECT count(*) FROM orphans WHERE pair = ?1),
		(SELECT count(*) FROM failures WHERE pair = ?1) FROM pairs WHERE id = ?1`, pair).Scan(&k.Objects, &k.Orphans, &k.Failing)
	return k, err
}
