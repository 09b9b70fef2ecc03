package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"assetferry/sources"
)

// An Entry is an asset seen at the destination.
type Entry struct {
	Asset     string
	Slot      int64
	Category  string
	Folder    string // id
	Name      string
	Extension string
	Size      int64
	Status    string // of processing; "" if the service reports none
	URL       string
	Mark      string // provenance of the asset
}

// Filename returns the name of the asset with its extension.
func (e Entry) Filename() string { return filename(e.Name, e.Extension) }

// A Scope separates inventories for different purposes.
type Scope int64

// RunScope returns the inventory for the plan of a run.
func RunScope(run int64) Scope { return Scope(run) }

// PairScope returns the inventory for the verification of a pair.
func PairScope(pair int64) Scope { return Scope(-pair) }

// StageInventory adds assets to an inventory, or replaces them.
func (s *Store) StageInventory(ctx context.Context, scope Scope, entries []Entry) error {
	return s.Write(ctx, "stage inventory", func(ctx context.Context, tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO inventory
			(scope, asset, slot, category, folder, name, extension, size, status, url, mark) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, e := range entries {
			if _, err := insert.ExecContext(ctx, scope, e.Asset, e.Slot, e.Category, e.Folder, e.Name, e.Extension,
				e.Size, e.Status, e.URL, e.Mark); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropInventory forgets an inventory.
func (s *Store) DropInventory(ctx context.Context, scope Scope) error {
	return s.Write(ctx, "drop inventory", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM inventory WHERE scope = ?`, scope)
		return err
	})
}

// EntriesAt lists the assets of an inventory at some places, ordered by place and ID.
func (s *Store) EntriesAt(ctx context.Context, scope Scope, slots []int64) ([]Entry, error) {
	these, err := json.Marshal(slots)
	if err != nil {
		return nil, err
	}
	return query(ctx, s.r, "look up inventory", func(rows *sql.Rows) (e Entry, err error) {
		return e, rows.Scan(&e.Asset, &e.Slot, &e.Category, &e.Folder, &e.Name, &e.Extension, &e.Size, &e.Status, &e.URL, &e.Mark)
	}, `SELECT asset, slot, category, folder, name, extension, size, status, url, mark FROM inventory
		WHERE scope = ? AND slot IN (SELECT value FROM json_each(?)) ORDER BY slot, asset`, scope, string(these))
}

// A ComparisonCost is how many objects have an asset of the same size in their place, and the bytes
// of these objects, counted once for each such asset.
type ComparisonCost struct{ Objects, Bytes int64 }

// ComparisonCost returns what it costs to compare the new objects of a run with its inventory. Without
// the index hint SQLite would read the whole inventory for each object.
func (s *Store) ComparisonCost(ctx context.Context, run int64) (c ComparisonCost, err error) {
	err = s.r.row(ctx, "count equal names", `SELECT count(DISTINCT i.key), coalesce(sum(i.size), 0)
		FROM items i CROSS JOIN inventory v INDEXED BY inventory_slot ON v.scope = ?2 AND v.slot = i.slot AND v.size = i.size
		WHERE i.run = ?1 AND i.action = 'create' AND i.state IN ('planned', 'retries_exhausted')`, run, RunScope(run)).Scan(&c.Objects, &c.Bytes)
	return c, err
}

// A Container directly holds assets: a folder, or a category if Folder is empty.
type Container struct{ Category, Folder string }

// Containers lists the containers of the assets of a pair.
func (s *Store) Containers(ctx context.Context, pair int64) ([]Container, error) {
	return query(ctx, s.r, "list containers", func(rows *sql.Rows) (c Container, err error) {
		return c, rows.Scan(&c.Category, &c.Folder)
	}, `SELECT DISTINCT `+categoryColumn+`, folder FROM (SELECT DISTINCT base, category, folder FROM receipts WHERE pair = ?) ORDER BY 1, 2`, pair)
}

// A Sighting is a receipt with the entry of its asset in an inventory; Seen is false without one.
type Sighting struct {
	Receipt Receipt // only the fields that can be compared
	Entry   Entry
	Seen    bool
}

// Sightings joins the receipts of a pair with its inventory, in key order.
func (s *Store) Sightings(ctx context.Context, pair int64) iter.Seq2[Sighting, error] {
	return paged(s.r, "", func(v Sighting) string { return string(v.Receipt.Key) }, func(after string) ([]Sighting, error) {
		return queryBased(ctx, s, "compare with inventory", scanSighting, (*Sighting).complete, `SELECT r.key, r.size, r.checksum, r.asset, r.name, r.extension,
			r.category, r.folder, r.url, r.base,
			i.asset IS NOT NULL, coalesce(i.category, ''), coalesce(i.folder, ''), coalesce(i.name, ''),
			coalesce(i.extension, ''), coalesce(i.size, 0), coalesce(i.status, ''), coalesce(i.url, '')
			FROM receipts r LEFT JOIN inventory i ON i.scope = ? AND i.asset = r.asset
			WHERE r.pair = ? AND r.key > ? ORDER BY r.key LIMIT ?`, PairScope(pair), pair, after, PageSize)
	})
}

// An Expected is the entry of an object's asset as its receipt says.
type Expected struct {
	Entry
	Key sources.Key
}

// ExpectedEntries lists the receipts of a pair as a listing should show their assets, in key order.
// It reads only what is compared.
func (s *Store) ExpectedEntries(ctx context.Context, pair int64) iter.Seq2[Expected, error] {
	scan := func(rows *sql.Rows) (r Expected, base sql.NullInt64, err error) {
		err = rows.Scan((*string)(&r.Key), &r.Asset, &r.Name, &r.Extension, &r.Category, &r.Folder, &r.URL, &r.Size, &base)
		return r, base, err
	}
	complete := func(r *Expected, b base) { r.Name, r.Extension, r.Category, r.URL = b.values(r.Key, r.Asset) }
	return paged(s.r, "", func(r Expected) sources.Key { return r.Key }, func(after sources.Key) ([]Expected, error) {
		return queryBased(ctx, s, "list expected assets", scan, complete, `SELECT key, asset, name, extension, category, folder, url, size, base FROM receipts
			WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

func scanSighting(rows *sql.Rows) (v Sighting, base sql.NullInt64, err error) {
	r, e := &v.Receipt, &v.Entry
	err = rows.Scan(&r.Key, &r.Size, &r.Checksum, &r.Asset, &r.Name, &r.Extension, &r.Category, &r.Folder, &r.URL, &base,
		&v.Seen, &e.Category, &e.Folder, &e.Name, &e.Extension, &e.Size, &e.Status, &e.URL)
	e.Asset = r.Asset
	return v, base, err
}

func (v *Sighting) complete(b base) { v.Receipt.complete(b) }

// Namesakes returns which of some assets were in the place of an object, with its size, before a
// plan of the pair created its asset there, or were replaced by one of its name.
func (s *Store) Namesakes(ctx context.Context, pair int64, assets []string) (map[string]bool, error) {
	all, err := query(ctx, s.r, "look up namesakes", scanText,
		`SELECT asset FROM namesakes WHERE pair = ? AND asset IN `+List(len(assets)), listed(assets, pair)...)
	set := make(map[string]bool, len(all))
	for _, asset := range all {
		set[asset] = true
	}
	return set, err
}

// noteNamesakes stores the assets in the places of planned objects, so that verify knows that they
// existed before.
func noteNamesakes(ctx context.Context, tx *sql.Tx, run int64) error {
	var seen bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM inventory WHERE scope = ?)`, run).Scan(&seen); err != nil || !seen {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO namesakes (pair, asset)
		SELECT r.pair, n.asset FROM runs r CROSS JOIN items i CROSS JOIN inventory n INDEXED BY inventory_slot
		WHERE r.num = ?1 AND i.run = ?1 AND i.state = 'planned' AND (i.action = 'create' OR i.action = 'adopt' OR i.action = 'move')
		AND n.scope = ?1 AND n.slot = i.slot AND n.size = i.size AND n.asset <> i.asset`, run)
	return err
}

// noteReplaced stores the asset of a receipt that one with another asset replaces.
func (r *recorder) noteReplaced(ctx context.Context, key sources.Key) error {
	_, err := r.tx.ExecContext(ctx, `INSERT OR IGNORE INTO namesakes (pair, asset)
		SELECT pair, asset FROM receipts WHERE pair = ? AND key = ?`, r.pair, key)
	return err
}
