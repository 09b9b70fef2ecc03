package state

import "context"

// MissingFolders counts the folders that the planned items of a run go to and that the
// journal does not know, with those around them, and the folders it knows, or
// categories, in which somebody has to look for them first.
func (s *Store) MissingFolders(ctx context.Context, run int64, destination string) (missing, around int64, err error) {
	// What is left of a path without the characters after its last slash is its parent.
	err = s.r.row(ctx, "count missing folders", `WITH RECURSIVE
		wanted (category, path) AS (
			SELECT DISTINCT `+categoryColumn+`, folder FROM items WHERE run = ?1 AND action = 'create' AND state = 'planned' AND folder <> ''
			UNION SELECT category, rtrim(rtrim(path, replace(path, '/', '')), '/') FROM wanted WHERE instr(path, '/') > 0),
		missing (category, parent) AS (
			SELECT category, CASE WHEN instr(path, '/') > 0 THEN rtrim(rtrim(path, replace(path, '/', '')), '/') ELSE '' END FROM wanted w
			WHERE NOT EXISTS (SELECT 1 FROM folders f WHERE f.destination = ?2 AND f.category = w.category AND f.path = w.path))
		SELECT count(*), count(DISTINCT CASE WHEN parent = '' OR EXISTS (SELECT 1 FROM folders f
			WHERE f.destination = ?2 AND f.category = m.category AND f.path = m.parent) THEN category || '/' || parent END)
		FROM missing m`, run, destination).Scan(&missing, &around)
	return missing, around, err
}
