package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"assetferry/sources"
)

// differentlyNamed selects receipts of assets whose names differ from those of their objects, byte
// for byte. A receipt with a base has the name of its object.
const differentlyNamed = `base IS NULL
	AND substr('/' || key, -length('/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END))
		<> '/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END`

// DifferentlyNamed lists the receipts of a pair whose assets have other names than their objects,
// byte for byte, in key order. It reads only these rows.
func (s *Store) DifferentlyNamed(ctx context.Context, pair int64) iter.Seq2[Receipt, error] {
	return paged(s.r, "", func(r Receipt) sources.Key { return r.Key }, func(after sources.Key) ([]Receipt, error) {
		return queryBased(ctx, s, "list names", scanReceipts(), (*Receipt).complete, `SELECT `+receiptColumns+` FROM receipts INDEXED BY receipts_names
			WHERE pair = ? AND key > ? AND `+differentlyNamed+` ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

// A Collision is an item whose place another item wants too, or a receipt of the pair has.
type Collision struct {
	Item
	Held   bool        // by a receipt
	Holder sources.Key // the first key of such a receipt
}

// Collisions lists the collisions of a run, ordered by place and key. Receipts have no index of
// their places: reading all of them takes a twentieth of the other reads of a plan, and an index
// entry would take 60 bytes.
func (s *Store) Collisions(ctx context.Context, run, pair int64) ([]Collision, error) {
	const wanting = `run = ?1 AND (action IN ('create', 'adopt', 'move') OR action = 'replace' AND previous_key NOT IN ('', key))`
	return query(ctx, s.r, "find collisions", scanCollision, `WITH held (place, holder) AS MATERIALIZED (
			SELECT slot, min(key) FROM receipts WHERE pair = ?2 AND slot IN (SELECT slot FROM items WHERE `+wanting+`)
			AND key NOT IN (SELECT previous_key FROM items WHERE run = ?1 AND previous_key <> '' AND action NOT IN ('adopt', 'conflict', 'skip')) GROUP BY slot)
		SELECT `+itemColumns+`, holder IS NOT NULL, coalesce(holder, '') FROM items LEFT JOIN held ON place = slot WHERE `+wanting+`
			AND (slot IN (SELECT slot FROM items WHERE `+wanting+` GROUP BY slot HAVING count(*) > 1) OR holder IS NOT NULL)
		ORDER BY slot, key`, run, pair)
}

func scanCollision(rows *sql.Rows) (c Collision, err error) {
	c.Item, err = scanItemAnd(rows, &c.Held, &c.Holder)
	return c, err
}

// TakenPlaces returns the places, of some, that receipts of a pair have or items of a run want. It
// reads all receipts once; see Collisions.
func (s *Store) TakenPlaces(ctx context.Context, run, pair int64, slots []int64) (map[int64]bool, error) {
	wanted, err := json.Marshal(slots)
	if err != nil {
		return nil, err
	}
	all, err := query(ctx, s.r, "find taken places", scanPlace, `WITH wanted AS MATERIALIZED (SELECT value FROM json_each(?3))
		SELECT slot FROM receipts WHERE pair = ?2 AND slot IN (SELECT value FROM wanted)
		UNION SELECT slot FROM items WHERE run = ?1 AND slot IN (SELECT value FROM wanted)`, run, pair, string(wanted))
	taken := make(map[int64]bool, len(all))
	for _, slot := range all {
		taken[slot] = true
	}
	return taken, err
}

func scanPlace(rows *sql.Rows) (slot int64, err error) {
	err = rows.Scan(&slot)
	return slot, err
}
