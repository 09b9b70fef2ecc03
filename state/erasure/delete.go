package erasure

import (
	"context"
	"database/sql"
	"slices"

	"assetferry/internal/metadata"
)

// removed replaces a key in a text that stays.
const removed = "(forgotten)"

// deletions are the statements that delete a selection, in their order. Counts of runs and of
// verifications stay equal to their rows.
func deletions() []string {
	const counted = ` FROM items i WHERE i.run = tallies.run AND coalesce(i.action, '') = tallies.action AND i.reason = tallies.reason AND i.state = tallies.state AND i.key` + keys
	const records = ` FROM receipts WHERE pair = ?1 AND key` + keys
	const found = ` FROM differences WHERE verification = verifications.id AND (key` + keys + ` OR asset` + assets + `)`
	const proposals = ` enrichment IN (SELECT num FROM enrichments WHERE destination = ?2 AND asset` + assets + `)`
	statements := []string{
		`UPDATE tallies SET objects = objects - (SELECT count(*)` + counted + `), bytes = bytes - (SELECT coalesce(sum(i.size), 0)` + counted + `) WHERE run` + ofPair,
		`UPDATE pairs SET objects = objects - (SELECT count(*)` + records + `), bytes = bytes - (SELECT coalesce(sum(size), 0)` + records + `) WHERE id = ?1`,
		`UPDATE verifications SET differences = differences - (SELECT count(*)` + found + `) WHERE pair = ?1 AND EXISTS (SELECT 1` + found + `)`,
		`DELETE FROM differences WHERE verification IN (SELECT id FROM verifications WHERE pair = ?1) AND (key` + keys + ` OR asset` + assets + `)`,
	}
	for _, table := range []string{"descriptions", "described", "old_urls", "failures", "sidecars", "aliases", "orphans", "receipts"} {
		statements = append(statements, `DELETE FROM `+table+` WHERE pair = ?1 AND key`+keys)
	}
	for _, table := range []string{"attempts", "former", "contents", "versions", "histories", "items"} {
		statements = append(statements, `DELETE FROM `+table+` WHERE run`+ofPair+` AND key`+keys)
	}
	for _, table := range []string{"revisions", "open_histories", "namesakes", "content_checks", "wave_checks"} {
		statements = append(statements, `DELETE FROM `+table+` WHERE pair = ?1 AND asset`+assets)
	}
	return append(statements,
		`DELETE FROM former_keys WHERE pair = ?1 AND (key`+keys+` OR owner`+keys+`)`,
		`DELETE FROM former WHERE run`+ofPair+` AND receipt ->> '$.key'`+keys,
		`UPDATE former SET receipt = json_remove(receipt, '$.names') WHERE run`+ofPair+` AND receipt ->> '$.names' IS NOT NULL
			AND EXISTS (SELECT 1 FROM json_tree(receipt, '$.names') t WHERE t.type = 'text' AND t.value`+keys+`)`,
		`UPDATE items SET previous_key = '`+removed+`' WHERE run`+ofPair+` AND previous_key`+keys,
		`UPDATE runs SET cursor = '' WHERE pair = ?1 AND cursor`+keys,
		`UPDATE runs SET drift_cursor = '' WHERE pair = ?1 AND drift_cursor`+keys,
		`UPDATE pairs SET drift_cursor = coalesce((SELECT max(key) FROM receipts WHERE pair = ?1 AND key < pairs.drift_cursor), '') WHERE id = ?1 AND drift_cursor`+keys,
		`DELETE FROM enrichment_changes WHERE`+proposals,
		`DELETE FROM enrichments WHERE destination = ?2 AND asset`+assets,
		`DELETE FROM decorative WHERE destination = ?2 AND asset`+assets,
		`DELETE FROM audited WHERE destination = ?2 AND asset`+assets,
		`DELETE FROM inventory WHERE asset`+assets,
	)
}

// quoting are the columns with messages, which may quote keys of other objects. Each statement gets
// the text, its replacement and the pair.
func quoting() []string {
	var statements []string
	for _, c := range []struct{ table, column, where string }{
		{"attempts", "error", "run" + ofPair}, {"items", "error", "run" + ofPair}, {"versions", "note", "run" + ofPair},
		{"failures", "error", "pair = ?1"}, {"runs", "stopped", "pair = ?1"},
	} {
		statements = append(statements, `UPDATE `+c.table+` SET `+c.column+` = replace(`+c.column+`, ?2, ?3) WHERE `+c.where+
			` AND `+c.column+` <> '' AND instr(`+c.column+`, ?2) > 0`)
	}
	return statements
}

// Delete deletes a selection, in the transaction of a write, and adds its keys to the forgotten
// ones.
func Delete(ctx context.Context, tx *sql.Tx, s Selection, named []string) error {
	const based = `SELECT base FROM receipts WHERE pair = ?1 AND key` + keys + ` AND base IS NOT NULL
		UNION SELECT base FROM items WHERE run` + ofPair + ` AND key` + keys + ` AND base IS NOT NULL`
	bases, err := all[int64](ctx, tx, based, s.args(based)...)
	if err != nil {
		return err
	}
	for _, stmt := range deletions() {
		if _, err := tx.ExecContext(ctx, stmt, s.args(stmt)...); err != nil {
			return err
		}
	}
	for _, base := range bases {
		if _, err := tx.ExecContext(ctx, `DELETE FROM bases WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM receipts WHERE base = ?1)
			AND NOT EXISTS (SELECT 1 FROM items WHERE base = ?1) AND NOT EXISTS (SELECT 1 FROM former WHERE receipt ->> '$.base' = ?1)`, base); err != nil {
			return err
		}
	}
	for _, key := range s.Keys {
		for _, stmt := range quoting() {
			if _, err := tx.ExecContext(ctx, stmt, s.pair, key, removed); err != nil {
				return err
			}
		}
	}
	return change(ctx, tx, s.pair, func(f Forgotten) Forgotten { return f.With(slices.Concat(named, s.Keys)...) })
}

// Readmit removes keys from the forgotten ones, in the transaction of a write: the next run uploads
// their objects again.
func Readmit(ctx context.Context, tx *sql.Tx, pair int64, named []string) error {
	return change(ctx, tx, pair, func(f Forgotten) Forgotten { return f.Without(related(named)...) })
}

func change(ctx context.Context, tx *sql.Tx, pair int64, to func(Forgotten) Forgotten) error {
	var f []byte
	if err := tx.QueryRowContext(ctx, `SELECT forgotten FROM pairs WHERE id = ?`, pair).Scan(&f); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE pairs SET forgotten = ? WHERE id = ?`, []byte(to(Forgotten(f))), pair)
	return err
}

// related returns keys with those that their sidecars may have.
func related(named []string) []string {
	all := slices.Clone(named)
	for _, key := range named {
		all = append(all, metadata.SidecarsOf(key)...)
	}
	return all
}
