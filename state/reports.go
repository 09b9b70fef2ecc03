package state

import (
	"context"
	"database/sql"
	"iter"
	"slices"

	"assetferry/sources"
)

// Reports read whole runs, and for a million objects each column takes a fifth of a second. So
// there are several queries here, each with no more columns than it needs, and none that SQLite
// would have to sort.

// An ItemStatus is the result of an object, without details.
type ItemStatus struct {
	Key    sources.Key
	Size   int64
	Action Action
	State  ItemState
}

// ItemStatuses lists the items of a run in key order.
func (s *Store) ItemStatuses(ctx context.Context, run int64) iter.Seq2[ItemStatus, error] {
	return paged(s.r, "", func(f ItemStatus) sources.Key { return f.Key }, func(after sources.Key) ([]ItemStatus, error) {
		return query(ctx, s.r, "list items", func(rows *sql.Rows) (f ItemStatus, err error) {
			return f, rows.Scan((*string)(&f.Key), &f.Size, &f.Action, &f.State)
		}, `SELECT key, size, coalesce(action, ''), state FROM items WHERE run = ? AND key > ? ORDER BY key LIMIT ?`, run, after, PageSize)
	})
}

// Remarkable lists the items of a run that are not simply created, in key order, with the columns
// that explain why.
func (s *Store) Remarkable(ctx context.Context, run int64) iter.Seq2[Item, error] {
	return paged(s.r, "", func(i Item) sources.Key { return i.Key }, func(after sources.Key) ([]Item, error) {
		return query(ctx, s.r, "list items", func(rows *sql.Rows) (i Item, err error) {
			var changed int64
			err = rows.Scan(&i.Key, &i.Size, &changed, &i.Obstacle, &i.Action, &i.Reason, &i.State, &i.Class, &i.Error, &i.PreviousKey)
			i.Time = fromNanos(changed)
			return i, err
		}, `SELECT key, size, time, obstacle, coalesce(action, ''), reason, state, class, error, previous_key FROM items
			WHERE run = ? AND key > ? AND (state <> 'done' OR action NOT IN ('create', 'adopt', 'update_metadata') OR error <> '' OR obstacle <> '')
			ORDER BY key LIMIT ?`, run, after, PageSize)
	})
}

// An ObjectReport is the row of an object in the report of a run.
type ObjectReport struct {
	ItemStatus
	Reason string
	// Held says that there is a receipt of the object for the asset of this item. Then Category,
	// Name, Asset and URL are those of the receipt, otherwise those of the plan.
	Held        bool
	Category    string // as in Item
	Folder      string // path within the category, by the plan
	Name        string // with extension
	Asset       string
	URL         string
	Class       string // of Error
	Error       string
	Attempts    int
	PreviousKey sources.Key // the previous key of a moved object
}

// Columns of a receipt if there is one, otherwise of the item.
const (
	ofReceipt  = `r.base, r.category, r.name || CASE r.extension WHEN '' THEN '' ELSE '.' || r.extension END, r.asset, r.url`
	ofItemElse = `CASE WHEN r.key IS NULL THEN i.base ELSE r.base END, coalesce(r.category, i.category),
		coalesce(r.name || CASE r.extension WHEN '' THEN '' ELSE '.' || r.extension END, i.name),
		coalesce(r.asset, i.asset), coalesce(r.url, '')`
)

func scanAccount(rows *sql.Rows) (a ObjectReport, base sql.NullInt64, err error) {
	err = rows.Scan((*string)(&a.Key), &a.Size, &a.Action, &a.State, &a.Reason, &a.Held, &base, &a.Category, &a.Name, &a.Asset, &a.URL,
		&a.Folder, &a.Class, &a.Error, &a.Attempts, (*string)(&a.PreviousKey))
	return a, base, err
}

func (a *ObjectReport) complete(b base) {
	a.Name, a.Category = baseName(string(a.Key)), b.category
	if a.Held {
		a.URL = b.url(a.Asset)
	}
}

// ObjectReports lists the items of a run in key order, those in the given states or all, each with
// the current asset of its object.
func (s *Store) ObjectReports(ctx context.Context, run Run, states ...ItemState) iter.Seq2[ObjectReport, error] {
	where, args := inStates(states)
	return paged(s.r, "", func(a ObjectReport) sources.Key { return a.Key }, func(after sources.Key) ([]ObjectReport, error) {
		return queryBased(ctx, s, "list items", scanAccount, (*ObjectReport).complete, `SELECT i.key, i.size, coalesce(i.action, ''), i.state, i.reason, r.key IS NOT NULL,
			`+ofItemElse+`, i.folder, i.class, i.error, i.attempts, i.previous_key
			FROM items i LEFT JOIN receipts r ON r.pair = ? AND r.key = i.key AND i.asset IN ('', r.asset) AND i.state <> 'conflict'
			WHERE i.run = ? AND i.key > ?`+where+` ORDER BY i.key LIMIT ?`,
			slices.Concat([]any{run.Pair.ID, run.Num, after}, args, []any{PageSize})...)
	})
}

// unlisted chooses the receipts of objects that have no item in a run and were not created by it:
// they were unchanged, or deleted at the source before.
const unlisted = ` FROM receipts r WHERE r.pair = ?1 AND r.run < ?2 AND NOT EXISTS (SELECT 1 FROM items WHERE run = ?2 AND key = r.key)`

// Unlisted lists the receipts, from before a run, of objects without an item in it, in key order,
// as unchanged.
func (s *Store) Unlisted(ctx context.Context, run Run) iter.Seq2[ItemStatus, error] {
	return paged(s.r, "", func(f ItemStatus) sources.Key { return f.Key }, func(after sources.Key) ([]ItemStatus, error) {
		return query(ctx, s.r, "list unchanged objects", func(rows *sql.Rows) (ItemStatus, error) {
			f := ItemStatus{Action: Unchanged, State: ItemSkipped}
			return f, rows.Scan((*string)(&f.Key), &f.Size)
		}, `SELECT r.key, r.size`+unlisted+` AND r.key > ?3 ORDER BY r.key LIMIT ?4`, run.Pair.ID, run.Num, after, PageSize)
	})
}

// UnlistedReports lists the same objects as Unlisted.
func (s *Store) UnlistedReports(ctx context.Context, run Run) iter.Seq2[ObjectReport, error] {
	return paged(s.r, "", func(a ObjectReport) sources.Key { return a.Key }, func(after sources.Key) ([]ObjectReport, error) {
		return queryBased(ctx, s, "list unchanged objects", scanAccount, (*ObjectReport).complete, `SELECT r.key, r.size, 'unchanged', 'skipped', 'unchanged', 1,
			`+ofReceipt+`, '', '', '', 0, ''`+unlisted+` AND r.key > ?3 ORDER BY r.key LIMIT ?4`, run.Pair.ID, run.Num, after, PageSize)
	})
}

// SumUnlisted counts the objects of Unlisted.
func (s *Store) SumUnlisted(ctx context.Context, run Run) (sum ReceiptSum, err error) {
	err = s.r.row(ctx, "sum up unchanged objects", `SELECT count(*), coalesce(sum(r.size), 0)`+unlisted, run.Pair.ID, run.Num).Scan(&sum.Objects, &sum.Bytes)
	return sum, err
}

// A CategorySum counts the receipts of a run in a category.
type CategorySum struct {
	ReceiptSum
	Created         ReceiptSum // without adopted and replaced ones
	MetadataPending int64
	WithURL         int64 // assets whose URL is in the state database
}

// SumCategories counts the receipts of a run, by category. It reads row by row: a GROUP BY would
// sort them, which takes half as long again.
func (s *Store) SumCategories(ctx context.Context, run Run) (map[string]*CategorySum, error) {
	sums := map[string]*CategorySum{}
	_, err := query(ctx, s.r, "sum up categories", func(rows *sql.Rows) (none struct{}, err error) {
		var category sql.RawBytes
		var size, adopted, metadataPending, withURL int64
		if err := rows.Scan(&category, &size, &adopted, &metadataPending, &withURL); err != nil {
			return none, err
		}
		sum := sums[string(category)]
		if sum == nil {
			sum = &CategorySum{}
			sums[string(category)] = sum
		}
		sum.Objects++
		sum.Bytes += size
		sum.Created.Objects += 1 - adopted
		sum.Created.Bytes += (1 - adopted) * size
		sum.MetadataPending += metadataPending
		sum.WithURL += withURL
		return none, nil
	}, `SELECT coalesce(b.category, r.category), size,
			adopted OR EXISTS (SELECT 1 FROM former f WHERE f.run = ?2 AND f.key = r.key), metadata_pending, b.id IS NOT NULL OR url <> ''
		FROM receipts r LEFT JOIN bases b ON b.id = r.base WHERE pair = ?1 AND run = ?2`,
		run.Pair.ID, run.Num)
	if err != nil {
		return nil, err
	}
	return sums, nil
}
