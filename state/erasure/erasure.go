package erasure

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/metadata"
)

// A Queryer reads the state database.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A Selection is what the state database has about some objects of a source and destination.
type Selection struct {
	Keys   []string // with previous keys and sidecars, in order
	Assets []string // of these objects alone, in order

	Records   []string // assets of the upload records: they exist, as far as the state database knows
	Items     int64
	Proposals int64
	Settings  int64 // runs whose flags name an object; these stay

	Moved      []string // present keys of objects for which previous ones were given
	Sharing    []string // other objects that share an asset of these
	Applying   []string // unfinished runs with these objects
	Plans      []int64  // plans with these objects
	InProgress int64    // requests to the AI content service, and their conversations

	pair        int64
	destination string
}

// IsEmpty reports whether the state database has nothing about the objects.
func (s Selection) IsEmpty() bool { return len(s.Keys) == 0 }

// The conditions of statements. Their parameters are ?1 for the pair, ?2 for the destination, ?3 for
// keys and ?4 for assets. Keys need not be valid UTF-8, so both lists are hexadecimal.
const (
	keys   = ` IN (SELECT CAST(unhex(value) AS TEXT) FROM json_each(?3))`
	assets = ` IN (SELECT CAST(unhex(value) AS TEXT) FROM json_each(?4))`
	ofPair = ` IN (SELECT num FROM runs WHERE pair = ?1)`
)

// args returns the parameters of a statement, which must not be more than it uses.
func (s Selection) args(stmt string) []any {
	all := []any{s.pair, s.destination, list(s.Keys), list(s.Assets)}
	for n := len(all); n > 0; n-- {
		if strings.Contains(stmt, fmt.Sprintf("?%d", n)) {
			return all[:n]
		}
	}
	return nil
}

func list(texts []string) string {
	all := make([]string, len(texts))
	for n, t := range texts {
		all[n] = hex.EncodeToString([]byte(t))
	}
	b, _ := json.Marshal(all) // never fails
	return string(b)
}

// Select finds what the state database has about the objects with some keys. It finds their previous
// keys and their sidecars, too. Without a trace of a key, the key is not in the selection.
func Select(ctx context.Context, db Queryer, pair int64, destination string, named []string) (s Selection, err error) {
	s = Selection{Keys: slices.Clone(named), pair: pair, destination: destination}
	if err := s.addRelated(ctx, db); err != nil {
		return s, err
	}
	const items = `SELECT i.asset FROM items i WHERE i.run` + ofPair + ` AND i.key` + keys + ` AND i.asset <> ''`
	const former = `SELECT f.receipt ->> '$.asset' FROM former f WHERE f.run` + ofPair + ` AND f.key` + keys
	for _, q := range []struct {
		into *[]string
		stmt string
	}{
		{&s.Records, `SELECT asset FROM receipts WHERE pair = ?1 AND key` + keys + ` ORDER BY 1`},
		{&s.Assets, `SELECT DISTINCT a.asset FROM (SELECT asset FROM receipts WHERE pair = ?1 AND key` + keys + ` UNION ALL ` + items + ` UNION ALL ` + former + `) a
			WHERE NOT EXISTS (SELECT 1 FROM pairs p JOIN receipts r ON r.pair = p.id AND r.asset = a.asset
				WHERE p.destination = ?2 AND NOT (r.pair = ?1 AND r.key` + keys + `)) ORDER BY 1`},
		{&s.Moved, `SELECT DISTINCT owner FROM former_keys WHERE pair = ?1 AND key` + keys + ` AND owner NOT` + keys + `
			AND key NOT IN (SELECT key FROM receipts WHERE pair = ?1) ORDER BY 1`},
		{&s.Sharing, `SELECT key FROM aliases WHERE pair = ?1 AND owner` + keys + ` AND key NOT` + keys + ` ORDER BY 1`},
		{&s.Applying, `SELECT id FROM runs r WHERE pair = ?1 AND state = 'applying' AND EXISTS (SELECT 1 FROM items WHERE run = r.num AND key` + keys + `)`},
	} {
		if *q.into, err = texts(ctx, db, q.stmt, s.args(q.stmt)...); err != nil {
			return s, err
		}
	}
	if err := s.count(ctx, db); err != nil {
		return s, err
	}
	traces := `SELECT key FROM (` + tracesOf("", "") + `) WHERE key` + keys
	known, err := texts(ctx, db, traces, s.args(traces)...)
	if err == nil && len(known) == 0 {
		s.Keys = nil
	}
	return s, err
}

// tracesOf selects the keys that the state database has rows of.
func tracesOf(begin, end string) string {
	var parts []string
	for _, table := range []string{"receipts", "described", "old_urls", "failures", "sidecars", "aliases", "orphans", "former_keys"} {
		parts = append(parts, begin+`SELECT key FROM `+table+` WHERE pair = ?1`+end)
	}
	for _, table := range []string{"items", "attempts", "former", "contents", "versions", "histories"} {
		parts = append(parts, begin+`SELECT key FROM `+table+` WHERE run`+ofPair+end)
	}
	return strings.Join(parts, ` UNION `)
}

// addRelated adds the previous keys and the sidecars of the objects, except those of other objects.
func (s *Selection) addRelated(ctx context.Context, db Queryer) error {
	const others = ` AND key NOT IN (SELECT key FROM receipts WHERE pair = ?1)`
	const previous = `SELECT key FROM former_keys WHERE pair = ?1 AND owner` + keys + others + `
		UNION SELECT previous_key FROM (SELECT previous_key, previous_key AS key FROM items WHERE run` + ofPair + ` AND action = 'move' AND items.key` + keys + ` AND previous_key <> '') WHERE TRUE` + others
	for known := 0; known < len(s.Keys); {
		known = len(s.Keys)
		more, err := texts(ctx, db, previous, s.args(previous)...)
		if err != nil {
			return err
		}
		s.Keys = union(s.Keys, more)
	}
	sidecars, err := s.sidecars(ctx, db)
	s.Keys = union(s.Keys, sidecars)
	return err
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// sidecars returns the sidecars that describe no other object.
func (s *Selection) sidecars(ctx context.Context, db Queryer) (own []string, err error) {
	var possible []string
	for _, key := range s.Keys {
		possible = append(possible, metadata.SidecarsOf(key)...)
	}
	const stmt = `SELECT key FROM sidecars WHERE pair = ?1 AND folded IN (SELECT CAST(unhex(value) AS TEXT) FROM json_each(?2))`
	found, err := texts(ctx, db, stmt, s.pair, list(possible))
	if err != nil {
		return nil, err
	}
	for _, sidecar := range found {
		owner, _ := metadata.OwnerOf(sidecar)
		const others = `SELECT key FROM receipts WHERE pair = ?1 AND (key IN (SELECT CAST(unhex(value) AS TEXT) FROM json_each(?2))
			OR ?3 <> '' AND key >= ?3 AND key < ?3 || char(1114111))`
		objects, err := texts(ctx, db, others, s.pair, list(owner.Keys), owner.Begin)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(objects, func(key string) bool { return owner.Describes(key) && !slices.Contains(s.Keys, key) }) {
			own = append(own, sidecar)
		}
	}
	return own, nil
}

// count counts rows for the user, and finds the plans.
func (s *Selection) count(ctx context.Context, db Queryer) error {
	for _, q := range []struct {
		into *int64
		stmt string
	}{
		{&s.Items, `SELECT count(*) FROM items WHERE run` + ofPair + ` AND key` + keys},
		{&s.Proposals, `SELECT count(*) FROM enrichments WHERE destination = ?2 AND asset` + assets},
		{&s.Settings, `SELECT count(*) FROM runs r WHERE pair = ?1 AND EXISTS (SELECT 1 FROM json_tree(r.rules) t, json_each(?3) k
			WHERE t.type = 'text' AND instr(t.value, CAST(unhex(k.value) AS TEXT)) > 0)`},
		{&s.InProgress, `SELECT count(*) FROM enrichments e WHERE destination = ?2 AND asset` + assets + ` AND (state IN ('asking', 'applying')
			OR EXISTS (SELECT 1 FROM conversations WHERE enrichment = e.num)
			OR EXISTS (SELECT 1 FROM enrichment_changes WHERE enrichment = e.num AND state IN ('applying', 'undoing')))`},
	} {
		found, err := all[int64](ctx, db, q.stmt, s.args(q.stmt)...)
		if err != nil {
			return err
		}
		*q.into = found[0]
	}
	const plans = `SELECT num FROM runs r WHERE pair = ?1 AND state NOT IN ('applying', 'finished', 'superseded')
		AND EXISTS (SELECT 1 FROM items WHERE run = r.num AND key` + keys + `)`
	var err error
	s.Plans, err = all[int64](ctx, db, plans, s.args(plans)...)
	return err
}

func texts(ctx context.Context, db Queryer, stmt string, args ...any) ([]string, error) {
	return all[string](ctx, db, stmt, args...)
}

// all returns the rows of a query with one column.
func all[T any](ctx context.Context, db Queryer, stmt string, args ...any) (found []T, err error) {
	rows, err := db.QueryContext(ctx, stmt, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}
