package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"assetferry/sources"
)

// An undo is a run that undoes another one. Its items are the objects whose assets that run
// created, changed or trashed, each with its current asset and place. Adopted assets are not among
// them, unless the run changed them.

// changedBy chooses the receipts that a run wrote last, of assets that it created or changed. A
// changed one has a previous state.
var changedBy = ` FROM receipts c WHERE c.pair = ?1 AND c.run = ?2 AND (` + createdBy + `
	OR EXISTS (SELECT 1 FROM former f WHERE f.run = ?2 AND f.key = c.key))`

// createdBy holds for receipts of assets that their run created. Other receipts may be of existing
// assets that only got metadata or a name. Most runs have no such asset, and then no item has to be
// found for each receipt.
var createdBy = `c.adopted = 0 AND (NOT ` + mayChangeAssets + ` OR NOT EXISTS (SELECT 1 FROM items i WHERE i.run = ?2 AND i.key = c.key AND ` + changesAsset + `))`

// mayChangeAssets holds for every run that has an item that changes an existing asset.
var mayChangeAssets = mayHave(changesAsset)

// mayHave holds for every run that has an item of some actions. It reads only tallies and items in
// flight: a run can have a million items. A run without tallies may have any item.
func mayHave(actions string) string {
	return `EXISTS (SELECT 1 FROM runs WHERE num = ?2 AND tallied = 0 UNION ALL SELECT 1 FROM tallies WHERE run = ?2 AND ` + actions + `
		UNION ALL SELECT 1 FROM items INDEXED BY items_open WHERE run = ?2 AND ` + inFlight + ` AND ` + actions + `)`
}

// changesAsset avoids IN, for which SQLite makes a table for each row.
const changesAsset = `(action = 'replace' OR action = 'update_metadata' OR action = 'move')`

// undoableFormer lists the possible items without a receipt by the run: the assets that it trashed,
// and the assets that changed since. It names the later runs that changed an object again.
const undoableFormer = ` FROM (
	SELECT ` + formerPlace + `, coalesce((SELECT l.id FROM receipts c JOIN runs l ON l.num = c.run WHERE c.pair = ?1 AND c.key = f.key), '') AS later
		FROM former f CROSS JOIN items i ON i.run = f.run AND i.key = f.key
		WHERE f.run = ?2 AND i.action = 'trash' AND i.state = 'done' AND NOT ` + isUndone + `
	UNION ALL
	SELECT ` + formerPlace + `, l.id FROM former f JOIN runs l ON l.num = f.run JOIN items i ON i.run = f.run AND i.key = f.key
		WHERE f.run > ?2 AND l.pair = ?1 AND f.receipt ->> '$.run' = ?2 AND i.state = 'done' AND NOT ` + isUndone + `
		AND (f.receipt ->> '$.adopted' = 0 OR EXISTS (SELECT 1 FROM former o WHERE o.run = ?2 AND o.key = f.receipt ->> '$.key')))`

// formerPlace selects the item columns of an object of which only the previous receipt is left.
const formerPlace = `f.receipt ->> '$.key' AS key, f.receipt ->> '$.size' AS size, f.receipt ->> '$.time' AS time,
	f.receipt ->> '$.version_tag' AS version_tag, f.receipt ->> '$.base' AS base, f.receipt ->> '$.category' AS category, i.folder,
	CASE f.receipt ->> '$.extension' WHEN '' THEN f.receipt ->> '$.name' ELSE (f.receipt ->> '$.name') || '.' || (f.receipt ->> '$.extension') END AS name,
	f.receipt ->> '$.slot' AS slot, f.receipt ->> '$.asset' AS asset`

// isUndone selects stored states that an undo has restored.
const isUndone = `EXISTS (SELECT 1 FROM runs u JOIN items t ON t.run = u.num AND t.key = f.key WHERE u.undoes = f.run AND t.state = 'done')`

// IsUndoable reports whether an undo of a run would have an item, or delete an alias.
func (s *Store) IsUndoable(ctx context.Context, run Run) (is bool, err error) {
	err = s.r.row(ctx, "look for undoable changes", `SELECT EXISTS (SELECT 1`+changedBy+`) OR EXISTS (SELECT 1`+undoableFormer+`)
		OR EXISTS (SELECT 1 FROM aliases WHERE pair = ?1 AND run = ?2)`, run.Pair.ID, run.Num).Scan(&is)
	return is, err
}

// PlanUndo begins a run that only shows the effect of an undo.
func (s *Store) PlanUndo(ctx context.Context, undone Run) (Run, error) {
	return s.beginUndo(ctx, undone, "plan", func(context.Context, *sql.Tx) error { return nil })
}

// BeginUndo begins an undo. An unfinished undone run is superseded, because resuming it would
// repeat the undone changes. It fails with ErrConflict if an item of that run is unconfirmed, or if
// another run is being applied.
func (s *Store) BeginUndo(ctx context.Context, undone Run) (Run, error) {
	return s.beginUndo(ctx, undone, "undo", func(ctx context.Context, tx *sql.Tx) error {
		var open bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE num = ? AND state NOT IN ('finished', 'superseded'))`,
			undone.Num).Scan(&open)
		if err == nil && open {
			err = supersede(ctx, tx, undone.Num, s.now())
		}
		if err != nil {
			return err
		}
		var other bool
		err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE pair = ? AND state = 'applying')`,
			undone.Pair.ID).Scan(&other)
		if err == nil && other {
			return fmt.Errorf("another run is not finished: %w", ErrConflict)
		}
		return err
	})
}

func (s *Store) beginUndo(ctx context.Context, undone Run, command string, prepare func(context.Context, *sql.Tx) error) (Run, error) {
	r := s.newRun(undone.Pair, command, []byte("{}"))
	r.Undoes = undone.Num
	err := s.Write(ctx, "begin undo", func(ctx context.Context, tx *sql.Tx) error {
		if undone.Undoes != 0 {
			return fmt.Errorf("run %s is an undo itself: %w", undone.ID, ErrConflict)
		}
		if pruned, err := isPruned(ctx, tx, undone.Num); err != nil {
			return err
		} else if pruned { // the previous state is unknown
			return fmt.Errorf("run %s cannot be undone any more: %w", undone.ID, ErrPruned)
		}
		if err := prepare(ctx, tx); err != nil {
			return err
		}
		return insertRun(ctx, tx, &r)
	})
	return r, err
}

// A Creation is an asset that a run created, as a listing should show it.
type Creation struct {
	Entry
	Modified time.Time // as in its receipt

	key sources.Key
}

// An UndoReader reads the possible items of an undo.
type UndoReader struct {
	store *Store
	undo  Run

	// Records of the undone run. Most runs have none of these, and then nothing has to be looked up for
	// each receipt.
	changes bool // items that change or trash an existing asset
	former  bool // previous states of assets
	shared  bool // later runs of the pair shared assets
}

// ReadUndo prepares to read the possible items of an undo.
func (s *Store) ReadUndo(ctx context.Context, undo Run) (*UndoReader, error) {
	u := &UndoReader{store: s, undo: undo}
	err := s.r.row(ctx, "find undoable changes", `SELECT `+mayHave(`(`+changesAsset+` OR action = 'trash')`)+`,
		EXISTS (SELECT 1 FROM former WHERE run = ?2), EXISTS (SELECT 1 FROM aliases WHERE pair = ?1 AND run > ?2)`, undo.Pair.ID, undo.Undoes).
		Scan(&u.changes, &u.former, &u.shared)
	return u, err
}

// Creations lists the assets that the undone run created and wrote last, in the order of their
// keys. It reads only what is compared with a listing.
func (u *UndoReader) Creations(ctx context.Context) iter.Seq2[Creation, error] {
	scan := func(rows *sql.Rows) (c Creation, base sql.NullInt64, err error) {
		var modified sql.NullInt64
		err = rows.Scan((*string)(&c.key), &c.Asset, &c.Size, &c.Name, &c.Extension, &c.Category, &c.Folder, &modified, &base)
		if modified.Valid {
			c.Modified = fromMillis(modified.Int64)
		}
		return c, base, err
	}
	complete := func(c *Creation, b base) { c.Name, c.Extension, c.Category, _ = b.values(c.key, "") }
	created := `c.adopted = 0`
	if u.changes {
		created = createdBy
	}
	return paged(u.store.r, "", func(c Creation) sources.Key { return c.key }, func(after sources.Key) ([]Creation, error) {
		return queryBased(ctx, u.store, "list created assets", scan, complete, `SELECT key, asset, size, name, extension, category, folder, modified, base FROM receipts c
			WHERE c.pair = ?1 AND c.run = ?2 AND `+created+` AND c.key > ?3 ORDER BY c.key LIMIT ?4`, u.undo.Pair.ID, u.undo.Undoes, after, PageSize)
	})
}

// An UndoCandidate is a possible item of an undo: an asset whose receipt the undone run wrote last.
type UndoCandidate struct {
	Item
	Listed  Entry  // the asset, as a listing should show it
	Created bool   // the run created the asset, and did nothing else with its key
	Shared  string // ID of a later run that shared the asset with other objects; empty if there is none
}

// Candidates lists the possible items of an undo with receipts, in key order. Folders are paths, as
// in the items of the undone run.
func (u *UndoReader) Candidates(ctx context.Context) iter.Seq2[UndoCandidate, error] {
	scan := func(rows *sql.Rows) (c UndoCandidate, base sql.NullInt64, err error) {
		var changed int64
		l := &c.Listed
		err = rows.Scan((*string)(&c.Key), &c.Size, &changed, &c.VersionTag, &base, &l.Category, &c.Folder, &l.Name, &l.Extension, &c.Slot, &c.Asset,
			(*string)(&c.PreviousKey), &l.Folder, &c.Created, &c.Shared)
		c.Time = fromNanos(changed)
		l.Asset, l.Size = c.Asset, c.Size
		c.Category, c.Name = l.Category, filename(l.Name, l.Extension)
		return c, base, err
	}
	complete := func(c *UndoCandidate, b base) {
		c.Listed.Name, c.Listed.Extension, c.Listed.Category, _ = b.values(c.Key, "")
		c.Category, c.Name = b.category, baseName(string(c.Key))
	}
	created, onlyCreated, former, shared := `c.adopted = 0`, `c.adopted = 0`, `0`, `''`
	if u.changes {
		created += ` AND (i.action IS NULL OR NOT ` + changesAsset + `)`
		onlyCreated = created + ` AND coalesce(i.action, '') <> 'trash'`
	}
	if u.former {
		former = `EXISTS (SELECT 1 FROM former f WHERE f.run = ?2 AND f.key = c.key)`
		onlyCreated += ` AND NOT ` + former
	}
	if u.shared {
		shared = `coalesce((SELECT l.id FROM aliases a JOIN runs l ON l.num = a.run
			WHERE a.pair = ?1 AND a.owner = c.key AND a.checksum = c.checksum AND a.run > ?2 LIMIT 1), '')`
	}
	return paged(u.store.r, "", func(c UndoCandidate) sources.Key { return c.Key }, func(after sources.Key) ([]UndoCandidate, error) {
		return queryBased(ctx, u.store, "list undoable changes", scan, complete, `SELECT c.key, c.size, c.time, c.version_tag, c.base, c.category, coalesce(i.folder, ''),
			c.name, c.extension, c.slot, c.asset, coalesce(i.previous_key, ''), c.folder, `+onlyCreated+`, `+shared+`
			FROM receipts c LEFT JOIN items i ON i.run = ?2 AND i.key = c.key
			WHERE c.pair = ?1 AND c.run = ?2 AND c.key > ?3 AND (`+created+` OR `+former+`) ORDER BY c.key LIMIT ?4`,
			u.undo.Pair.ID, u.undo.Undoes, after, PageSize)
	})
}

// CountChanges counts the possible items of an undo that Creations does not list: existing assets
// that the run changed or trashed, without those that a later run changed again.
func (u *UndoReader) CountChanges(ctx context.Context) (n int64, err error) {
	err = u.store.r.row(ctx, "count undoable changes", `SELECT (SELECT count(*) FROM former f CROSS JOIN receipts c ON c.pair = ?1 AND c.key = f.key
		WHERE f.run = ?2 AND c.run = ?2 AND NOT (`+createdBy+`)) + (SELECT count(*)`+undoableFormer+` WHERE later = '')`, u.undo.Pair.ID, u.undo.Undoes).Scan(&n)
	return n, err
}

// StageUndo stores items of an undo, decided or not. Objects with an outcome in the run keep it.
func (s *Store) StageUndo(ctx context.Context, undo int64, items []Item) error {
	return s.Write(ctx, "stage undo", func(ctx context.Context, tx *sql.Tx) error {
		if err := onStageUndo.isPossible(ctx, tx, undo); err != nil {
			return err
		}
		return insertItems(ctx, tx, onStageUndo, undo, items)
	})
}

// FinishStagingUndo stores the possible items of an undo that have no receipt by the undone run, and
// ends the staging. It returns how many it stored. Changes that a later run overwrote are conflicts for
// the given reason.
func (s *Store) FinishStagingUndo(ctx context.Context, undo Run, later string) (n int64, err error) {
	err = s.Write(ctx, "stage undo", func(ctx context.Context, tx *sql.Tx) error {
		if err := One(ctx, tx, `UPDATE runs SET state = 'planning', scanned = 1 WHERE num = ? AND state = 'scanning'`, undo.Num); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO items (run, key, size, time, version_tag, obstacle, base, category, folder, name, slot, asset,
			previous_key, action, reason, state, error) SELECT ?3, key, size, time, version_tag, '', base, category, folder, name, slot, asset, '',
			CASE later WHEN '' THEN NULL ELSE 'conflict' END, CASE later WHEN '' THEN '' ELSE ?4 END, CASE later WHEN '' THEN 'staged' ELSE 'conflict' END,
			CASE later WHEN '' THEN '' ELSE ?4 || ': ' || later END`+undoableFormer+`
			WHERE true ON CONFLICT DO NOTHING`, undo.Pair.ID, undo.Undoes, undo.Num, later)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return n, err
}

// An Undoing is an item of an undo, with the records about the change by the run.
type Undoing struct {
	Item
	Was    Action          // action of the run
	Why    string          // it did so
	Before *Receipt        // before the run; nil if there was none
	Former json.RawMessage // the parts that users can change, before the run; nil as Before is
	Said   string          // metadata when the asset was updated last, as JSON; empty if there was none
}

// Undoings returns items of an undo by key, with their records.
func (s *Store) Undoings(ctx context.Context, undo Run, keys []sources.Key) (map[sources.Key]Undoing, error) {
	const op = "list undoable changes"
	all, err := query(ctx, s.r, op, func(rows *sql.Rows) (u Undoing, err error) {
		u.Item, err = scanItemAnd(rows, (*string)(&u.Was), &u.Why, &u.Said)
		return u, err
	}, `SELECT `+itemColumns+`, coalesce((SELECT i.action FROM items i WHERE i.run = ?1 AND i.key = items.key), ''),
		coalesce((SELECT i.reason FROM items i WHERE i.run = ?1 AND i.key = items.key), ''),
		coalesce((SELECT d.metadata FROM described d WHERE d.pair = ?2 AND d.key = items.key), '')
		FROM items WHERE run = ?3 AND key IN `+List(len(keys)), listed(keys, undo.Undoes, undo.Pair.ID, undo.Num)...)
	if err != nil {
		return nil, err
	}
	before, err := queryBased(ctx, s, op, scanBefore, (*before).complete, `SELECT `+formerColumns+`, key, asset FROM former
		WHERE run = ?1 AND key IN `+List(len(keys)), listed(keys, undo.Undoes)...)
	if err != nil {
		return nil, err
	}
	byKey := make(map[sources.Key]Undoing, len(all))
	for _, u := range all {
		byKey[u.Key] = u
	}
	for _, b := range before {
		if u, ok := byKey[b.of]; ok {
			u.Before, u.Former = &b.Receipt, b.asset
			byKey[b.of] = u
		}
	}
	return byKey, nil
}

// DecideUndo is Decided for the items of an undo: it stores only actions and reasons, because
// everything else stays as staged. One statement stores all items with the same decision.
func (s *Store) DecideUndo(ctx context.Context, undo int64, items []Item) error {
	type decision struct {
		action     Action
		reason     string
		state      ItemState
		class, err string
	}
	alike := map[decision][]string{}
	for _, i := range items {
		d := decision{i.Action, i.Reason, i.State, i.Class, i.Error}
		alike[d] = append(alike[d], string(i.Key))
	}
	return s.Write(ctx, "store decisions", func(ctx context.Context, tx *sql.Tx) error {
		if err := onDecided.isPossible(ctx, tx, undo); err != nil {
			return err
		}
		for d, keys := range alike {
			if err := onDecided.leadsTo(d.state); err != nil {
				return err
			}
			res, err := tx.ExecContext(ctx, `UPDATE items SET action = ?, reason = ?, state = ?, class = ?, error = ?
				WHERE run = ? AND `+onDecided.condition()+` AND key IN `+List(len(keys)), listed(keys, d.action, d.reason, d.state, d.class, d.err, undo)...)
			if err := changes(int64(len(keys)), res, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// HasNeighbours reports whether other sources were migrated to the destination of a pair.
func (s *Store) HasNeighbours(ctx context.Context, pair Pair) (has bool, err error) {
	err = s.r.row(ctx, "look up other sources", `SELECT EXISTS (SELECT 1 FROM pairs WHERE destination = ? AND id <> ?)`, pair.Destination, pair.ID).Scan(&has)
	return has, err
}

// SharedAssets returns which of some assets belong to objects of other sources, too.
func (s *Store) SharedAssets(ctx context.Context, pair Pair, assets []string) (map[string]bool, error) {
	shared, err := query(ctx, s.r, "look up assets", scanText, `SELECT r.asset FROM pairs p JOIN receipts r INDEXED BY receipts_asset ON r.pair = p.id
		WHERE p.destination = ? AND p.id <> ? AND r.asset IN `+List(len(assets)), listed(assets, pair.Destination, pair.ID)...)
	set := make(map[string]bool, len(shared))
	for _, asset := range shared {
		set[asset] = true
	}
	return set, err
}

// FinishUndo ends an undo in which nothing is left to do. Assets that were deleted already get the
// records of before the run: none, if the run created them or if another object has their key.
func (s *Store) FinishUndo(ctx context.Context, undo Run) error {
	return s.Write(ctx, "finish undo", func(ctx context.Context, tx *sql.Tx) error {
		const skipped = `SELECT key FROM items WHERE run = ?2 AND state = 'skipped'`
		for _, table := range []string{"descriptions", "described", "failures", "receipts"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE pair = ?1 AND key IN (`+skipped+`)`, undo.Pair.ID, undo.Num); err != nil {
				return err
			}
		}
		now, err := arrivalTime(ctx, tx, undo.Pair.ID, s.now())
		if err != nil {
			return err
		}
		const free = skipped + ` AND NOT EXISTS (SELECT 1 FROM former f JOIN receipts r ON r.pair = ?1 AND r.key = f.receipt ->> '$.key'
			WHERE f.run = (SELECT undoes FROM runs WHERE num = ?2) AND f.key = items.key AND r.asset <> f.receipt ->> '$.asset')`
		if _, err := restoreFormer(ctx, tx, undo.Pair.ID, undo.Num, now, free, undo.Num); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE pairs SET (objects, bytes) =
			(SELECT count(*), coalesce(sum(size), 0) FROM receipts WHERE pair = ?1) WHERE id = ?1`, undo.Pair.ID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM aliases WHERE pair = ? AND run = ?`, undo.Pair.ID, undo.Undoes); err != nil {
			return err
		}
		if err := forgetPlaces(ctx, tx, undo.Pair.ID, undo.Num, `state = 'skipped'`); err != nil {
			return err
		}
		return finishRun(ctx, tx, undo.Num, s.now())
	})
}

// UndoneBy lists the runs that undid a run, or a part of it, the oldest first.
func (s *Store) UndoneBy(ctx context.Context, run int64) ([]Run, error) {
	return query(ctx, s.r, "find undos", scanRun, `SELECT `+runColumns+`
		WHERE r.undoes = ? AND r.command <> 'plan' ORDER BY r.num`, run)
}

// SumUndone sums up the undone changes of a run.
func (s *Store) SumUndone(ctx context.Context, run int64) (sum ReceiptSum, err error) {
	err = s.r.row(ctx, "count undone changes", `SELECT coalesce(sum(t.objects), 0), coalesce(sum(t.bytes), 0) FROM runs u JOIN tallies t ON t.run = u.num
		WHERE u.undoes = ? AND t.state = 'done'`, run).Scan(&sum.Objects, &sum.Bytes)
	return sum, err
}

// forgetPlaces makes the next plan list the places of chosen items: a user may restore their assets
// from the trash, and the state database does not know them any more.
func forgetPlaces(ctx context.Context, tx *sql.Tx, pair, run int64, chosen string, args ...any) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM ours WHERE pair = ? AND (category, path) IN
		(SELECT `+categoryColumn+`, folder FROM items WHERE run = ? AND `+chosen+`)`, append([]any{pair, run}, args...)...)
	return err
}

// UndoneRun finds the run that an undo undoes.
func (s *Store) UndoneRun(ctx context.Context, undo Run) (Run, error) {
	runs, err := query(ctx, s.r, "find undone run", scanRun, `SELECT `+runColumns+` WHERE r.num = ?`, undo.Undoes)
	return First(runs, err, "the run that "+undo.ID+" undoes")
}
