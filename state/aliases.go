package state

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"assetferry/sources"
)

// An Alias is an object without an asset of its own: its content is identical to that of another
// object, the owner, and both share one asset. It is valid as long as the receipt of the owner has
// that content, so a change of the asset never gives an alias other content.
type Alias struct {
	sources.Object
	Owner sources.Key
	Run   int64 // that found it
}

// ofLiving joins the valid aliases with the receipts of their owners.
const ofLiving = ` FROM aliases a JOIN receipts r ON r.pair = a.pair AND r.key = a.owner AND r.checksum = a.checksum `

// An aliasRow is an alias as its columns are.
type aliasRow struct {
	Alias
	changed int64
}

// aliasTable has the columns of an alias a. They are written from the item of its object, see
// aliasFromItem.
var aliasTable = Columns[aliasRow]{
	{Name: "key", Read: "a.key", Into: func(r *aliasRow) any { return &r.Key }},
	{Name: "size", Read: "a.size", Into: func(r *aliasRow) any { return &r.Size }},
	{Name: "time", Read: "a.time", Into: func(r *aliasRow) any { return &r.changed }},
	{Name: "version_tag", Read: "a.version_tag", Into: func(r *aliasRow) any { return &r.VersionTag }},
	{Name: "content_type", Read: "a.content_type", Into: func(r *aliasRow) any { return (*textOrNull)(&r.ContentType) }},
	{Name: "owner", Read: "a.owner", Into: func(r *aliasRow) any { return &r.Owner }},
	{Name: "run", Read: "a.run", Into: func(r *aliasRow) any { return &r.Run }},
}

// The columns and statements of aliases.
var (
	// aliasFromItem maps the columns of an alias to those of the item i of its object and of the
	// receipt r of its owner.
	aliasFromItem = aliasTable.From(map[string]string{
		"key": "i.key", "size": "i.size", "time": "i.time", "version_tag": "i.version_tag", "content_type": "i.content_type", "owner": "r.key", "run": "i.run",
	}, "")
	aliasColumns = aliasTable.Reads()
)

func scanAliases() func(*sql.Rows) (Alias, error) { return scanner(aliasTable, (*aliasRow).alias) }

func (r *aliasRow) alias() Alias {
	a := r.Alias
	a.Time = fromNanos(r.changed)
	return a
}

// AllAliases lists the aliases of a pair in key order, those with keys after the given one.
func (s *Store) AllAliases(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Alias, error] {
	return paged(s.r, after, func(a Alias) sources.Key { return a.Key }, func(after sources.Key) ([]Alias, error) {
		return query(ctx, s.r, "list aliases", scanAliases(),
			`SELECT `+aliasColumns+ofLiving+`WHERE a.pair = ? AND a.key > ? ORDER BY a.key LIMIT ?`, pair, after, PageSize)
	})
}

// AliasesOf lists the aliases of an owner.
func (s *Store) AliasesOf(ctx context.Context, pair int64, owner sources.Key) iter.Seq2[Alias, error] {
	return paged(s.r, "", func(a Alias) sources.Key { return a.Key }, func(after sources.Key) ([]Alias, error) {
		return query(ctx, s.r, "list aliases", scanAliases(),
			`SELECT `+aliasColumns+ofLiving+`WHERE a.pair = ? AND a.owner = ? AND a.key > ? ORDER BY a.key LIMIT ?`, pair, owner, after, PageSize)
	})
}

// AliasOwner returns the object whose asset another one shares; ErrNotFound if it shares none.
func (s *Store) AliasOwner(ctx context.Context, pair int64, key sources.Key) (sources.Key, error) {
	all, err := query(ctx, s.r, "find alias", scanKey, `SELECT a.owner`+ofLiving+`WHERE a.pair = ? AND a.key = ?`, pair, key)
	return First(all, err, "alias "+string(key))
}

// JoinedReceipts lists the receipts of the objects whose assets other objects will share by a run's
// plan, in key order. Assets that the run creates again are not listed.
func (s *Store) JoinedReceipts(ctx context.Context, run, pair int64) iter.Seq2[Receipt, error] {
	return paged(s.r, "", func(r Receipt) sources.Key { return r.Key }, func(after sources.Key) ([]Receipt, error) {
		return queryBased(ctx, s, "list shared upload records", scanReceipts(), (*Receipt).complete, `SELECT `+receiptColumns+` FROM receipts
			WHERE pair = ?1 AND key > ?2 AND key IN (SELECT previous_key FROM items WHERE run = ?3 AND action = 'adopt' AND previous_key <> '' AND state = 'planned')
			AND key NOT IN (SELECT key FROM items WHERE run = ?3 AND action = 'create')
			ORDER BY key LIMIT ?4`, pair, after, run, PageSize)
	})
}

// ForgetAliasesOf deletes the aliases of an owner.
func (s *Store) ForgetAliasesOf(ctx context.Context, pair int64, owner sources.Key) error {
	return s.Write(ctx, "forget aliases", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM aliases WHERE pair = ? AND owner = ?`, pair, owner)
		return err
	})
}

// A Sharer is an object that a run would create, or one whose asset it could share.
type Sharer struct {
	Item
	// Owns reports whether the object has an asset of its own: it has a receipt, or is moved,
	// adopted or created again.
	Owns bool
}

// Sharers lists the objects that a run would create, and the objects whose assets they could share.
// It lists only sizes that occur more than once, ordered by size and key. For objects with a
// receipt it reads only the columns that identify the content. It does not list deleted objects,
// nor objects that get other content, unless they got it before the run was listed again. The list
// is a snapshot.
func (s *Store) Sharers(ctx context.Context, run, pair int64) iter.Seq2[Sharer, error] {
	const new = ` FROM items WHERE run = ?1 AND action = 'create' AND previous_key = '' AND state = 'planned' AND size > 0`
	scan := func(rows *sql.Rows) (c Sharer, err error) {
		c.Item, err = scanItemAnd(rows, &c.Owns)
		return c, err
	}
	return spooled(ctx, s.r, "list objects that may share assets", scan, `WITH new AS MATERIALIZED (SELECT DISTINCT size`+new+`)
		SELECT `+itemColumns+`, action <> 'create' OR previous_key <> '' AS owns FROM items WHERE run = ?1 AND state = 'planned' AND size IN new
			AND (action = 'create' OR action = 'move' AND checksum IS NOT NULL OR action = 'adopt' AND previous_key = '' AND checksum IS NOT NULL)
		UNION ALL SELECT `+receiptAsItem+`, 1
			FROM receipts r WHERE r.pair = ?2 AND r.size IN new
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.run = ?1 AND i.key = r.key AND i.action NOT IN ('unchanged', 'update_metadata') AND i.state <> 'done')
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.run = ?1 AND i.previous_key = r.key AND i.action <> 'adopt')
		ORDER BY size, key`, run, pair)
}

// receiptAsItem maps the content of a receipt to the columns of an item.
var receiptAsItem = itemTable.From(map[string]string{
	"key": "r.key", "size": "r.size", "time": "r.time", "version_tag": "r.version_tag", "content_type": "r.content_type",
	"checksum": "r.checksum", "asset": "r.asset", "base": "0", "slot": "0", "attempts": "0", "intent_at": "0", "retry_at": "0",
}, "''")

// Joins reports whether an item shares the asset of another object.
func (i Item) Joins() bool { return i.Action == Adopt && i.PreviousKey != "" }

// joinAlias records that an object shares the asset of another one, if that has the planned
// content. Otherwise the item fails without a count of failures: the next run tries again.
func (r *recorder) joinAlias(ctx context.Context, o *Outcome) (asset string, err error) {
	rows, err := r.tx.QueryContext(ctx, `INSERT OR REPLACE INTO aliases (pair, checksum, `+aliasTable.Names()+`)
		SELECT ?1, r.checksum, `+aliasFromItem+` FROM items i JOIN receipts r ON r.pair = ?1 AND r.key = i.previous_key
		WHERE i.run = ?2 AND i.key = ?3 AND r.size = i.size
			AND CASE WHEN i.checksum IS NULL THEN i.version_tag <> '' AND r.version_tag = i.version_tag ELSE r.checksum = i.checksum END
			AND NOT EXISTS (SELECT 1 FROM receipts own WHERE own.pair = ?1 AND own.key = i.key)
		RETURNING (SELECT r.asset FROM receipts r WHERE r.pair = ?1 AND r.key = owner)`, r.pair, r.run, o.Key)
	if err != nil {
		return "", fmt.Errorf("save alias: %w", err)
	}
	found, err := scanAll(rows, scanText)
	if err != nil {
		return "", fmt.Errorf("save alias: %w", err)
	}
	if len(found) == 0 {
		*o = Outcome{Key: o.Key, State: ItemFailed, Class: "transient", Joins: o.Joins,
			Error: fmt.Sprintf("its content is identical to %s, which was not uploaded as planned; the next run tries again", o.Joins)}
		return "", nil
	}
	// Former keys of other objects end here: this key has its own asset now.
	_, err = r.tx.ExecContext(ctx, `DELETE FROM former_keys WHERE pair = ? AND key = ?`, r.pair, o.Key)
	return found[0], err
}

// forgetAliases deletes aliases whose objects do not exist any more. Their keys stay known as
// former keys of their owner.
func forgetAliases(ctx context.Context, tx *sql.Tx, run int64, keys []sources.Key) error {
	for _, key := range keys {
		for _, statement := range []string{
			`INSERT OR REPLACE INTO former_keys (pair, key, owner) SELECT a.pair, a.key, a.owner` + ofLiving +
				`WHERE a.pair = (SELECT pair FROM runs WHERE num = ?1) AND a.key = ?2`,
			`DELETE FROM aliases WHERE pair = (SELECT pair FROM runs WHERE num = ?1) AND key = ?2`,
		} {
			if _, err := tx.ExecContext(ctx, statement, run, key); err != nil {
				return fmt.Errorf("delete alias %s: %w", key, err)
			}
		}
	}
	return nil
}
