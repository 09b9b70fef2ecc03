package state

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"assetferry/sources"
)

// An Action is the planned action for an object or an asset.
type Action string

// The actions.
const (
	Create         Action = "create"
	Adopt          Action = "adopt"
	Replace        Action = "replace"
	UpdateMetadata Action = "update_metadata"
	Move           Action = "move"
	Trash          Action = "trash"
	Unchanged      Action = "unchanged"
	Skip           Action = "skip"
	Conflict       Action = "conflict"
)

// An ItemState is the state of an item; transitions.go lists the changes between states.
type ItemState string

// The states of an item.
const (
	ItemStaged           ItemState = "staged" // listed, not decided yet
	ItemPlanned          ItemState = "planned"
	ItemSending          ItemState = "sending" // intent is durable, the effect may have begun
	ItemSent             ItemState = "sent"
	ItemDone             ItemState = "done"
	ItemRetryScheduled   ItemState = "retry_scheduled"
	ItemFailed           ItemState = "failed"
	ItemRetriesExhausted ItemState = "retries_exhausted"
	ItemChanged          ItemState = "changed" // the source moved on
	ItemSkipped          ItemState = "skipped"
	ItemConflict         ItemState = "conflict"
	ItemUnconfirmed      ItemState = "unconfirmed" // sent, outcome unknown
)

// An Item is one planned action and its life.
type Item struct {
	sources.Object // as it was listed

	Action   Action
	Reason   string
	State    ItemState
	Category string // id, or "new:" and the name of a category to be created
	Folder   string // path within the category
	Name     string // with extension
	Slot     int64  // hash of the place at the destination, to find collisions
	Checksum []byte // known before the upload only if the plan compared contents

	// PreviousKey is the previous key of a moved object, or the key of the owner whose asset an
	// adopted object shares; empty for all others.
	PreviousKey sources.Key

	Attempts int
	IntentAt time.Time // by the server's clock
	RetryAt  time.Time // of the next retry, by our clock
	Asset    string
	Class    string
	Error    string

	// Whole is the item as it is stored, if this one stands for one version of its object: see
	// Version. It is nil in runs that bring no older versions.
	Whole *Item
	// VersionNum is the number of an older version of the object in its history; 0 for the object
	// itself.
	VersionNum int
	// Omitted are the older versions that the run did not bring, if this one stands for the object
	// itself.
	Omitted []OmittedVersion
}

// A Page is one page of a listing: objects to stage and the position. An item with an action is
// staged with that decision.
type Page struct {
	Items           []Item
	Cursor          sources.Key // the last key seen
	Unchanged       int64       // objects that need no staging
	UnchangedBytes  int64
	Sidecars        []Sidecar     // new, changed, or not listed any more
	DroppedSidecars []sources.Key // keys of sidecars to forget
	DroppedAliases  []sources.Key // keys of aliases that are not listed any more
	Done            bool          // the listing is complete
}

// Stage stores a page of the listing with its position. Objects with an outcome in the run keep it.
func (s *Store) Stage(ctx context.Context, run int64, p Page) error {
	return s.Write(ctx, "stage listing", func(ctx context.Context, tx *sql.Tx) error {
		if err := One(ctx, tx, `UPDATE runs SET cursor = ?, unchanged = unchanged + ?, unchanged_bytes = unchanged_bytes + ?,
			scanned = ?, state = CASE WHEN ? THEN 'planning' ELSE state END WHERE num = ? AND state = 'scanning'`,
			p.Cursor, p.Unchanged, p.UnchangedBytes, p.Done, p.Done, run); err != nil {
			return err
		}
		if err := saveSidecars(ctx, tx, run, p.Sidecars, p.DroppedSidecars); err != nil {
			return err
		}
		if err := forgetAliases(ctx, tx, run, p.DroppedAliases); err != nil {
			return err
		}
		return insertItems(ctx, tx, onStage, run, p.Items)
	})
}

func insertItems(ctx context.Context, tx *sql.Tx, on event, run int64, items []Item) error {
	common := bases{tx: tx}
	rows := make([]itemRow, 0, rowsAtOnce)
	alike := inserter{tx: tx, insertMany: insertAlike}
	assets := inserter{tx: tx, insertMany: insertAssets}
	mixed := inserter{tx: tx, insertMany: insertMixed}
	all := inserter{tx: tx, insertMany: insertAny}
	for chunk := range slices.Chunk(items, rowsAtOnce) {
		rows = rows[:len(chunk)]
		for n, i := range chunk {
			i.State = cmp.Or(i.State, ItemStaged)
			if err := rows[n].fill(ctx, on, i, &common); err != nil {
				return err
			}
		}
		var err error
		switch kinds := likenesses(rows); {
		case len(kinds) == 0:
			all.begin(run)
			err = insertRows(ctx, &all, rows, stagedColumns.Values)
		case len(kinds) == 1:
			into, own := &alike, ownColumns
			if kinds[0].assets {
				into, own = &assets, ownAssetColumns
			}
			into.begin(run)
			into.args = kinds[0].values(into.args)
			err = insertRows(ctx, into, rows, own.Values)
		default:
			mixed.begin(run)
			for n := range maxLikenesses {
				mixed.args = kinds[min(n, len(kinds)-1)].values(mixed.args)
			}
			err = insertRows(ctx, &mixed, rows, func(args []any, row *itemRow) []any {
				return append(ownColumns.Values(args, row), int64(slices.Index(kinds, row.likeness())))
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// insertRows inserts rows with the arguments of each.
func insertRows(ctx context.Context, into *inserter, rows []itemRow, values func([]any, *itemRow) []any) error {
	for n := range rows {
		into.args = values(into.args, &rows[n])
	}
	return into.insert(ctx, len(rows))
}

// A likeness is what many items have in common: the new objects of a folder, their sidecars, or
// assets to be trashed. Binding it once for many items saves a quarter of the time, and half of it if
// they alternate.
type likeness struct {
	action Action
	reason string
	state  ItemState
	base   sql.NullInt64
	folder string
	assets bool // they have assets
}

func (r *itemRow) likeness() likeness {
	return likeness{r.Action, r.Reason, r.State, r.base, r.Folder, r.Asset != ""}
}

// values appends the arguments for a likeness.
func (l *likeness) values(args []any) []any {
	return append(args, string(l.action), l.reason, string(l.state), l.base, l.folder)
}

// maxLikenesses is the number of likenesses of a statement: images and sidecars, where one folder
// ends and the next begins.
const maxLikenesses = 3

// likenesses returns those of rows that differ in nothing else but ownColumns, and have no values in
// the other columns. It returns none if there are more than maxLikenesses or other differences. With
// assets, it returns only one.
func likenesses(rows []itemRow) (all []likeness) {
	for n := range rows {
		r := &rows[n]
		switch this := r.likeness(); {
		case this.action == "", r.Category != "", r.Name != "", r.Obstacle != "",
			r.Class != "", r.Error != "", r.PreviousKey != "", r.ContentType != "":
			return nil
		case slices.Contains(all, this):
		case len(all) == maxLikenesses, len(all) > 0 && (this.assets || all[0].assets):
			return nil
		default:
			all = append(all, this)
		}
	}
	return all
}

// unlessEmpty returns a text for storage, nil if it is empty.
func unlessEmpty(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// textOrNull reads such a text. A coalesce in SQL takes longer.
type textOrNull string

func (t *textOrNull) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*t = ""
	case string:
		*t = textOrNull(value)
	default:
		return fmt.Errorf("%T is not text", value)
	}
	return nil
}

// Decided stores the decisions of a plan on items that were not begun. It may be repeated until the
// plan is finished. A moved object has one item, under its new key; the item of its previous key is
// deleted.
func (s *Store) Decided(ctx context.Context, run int64, items []Item) error {
	return s.Write(ctx, "store decisions", func(ctx context.Context, tx *sql.Tx) error {
		if err := onDecided.isPossible(ctx, tx, run); err != nil {
			return err
		}
		update, err := tx.PrepareContext(ctx, `UPDATE items SET `+decidedColumns.Sets()+` WHERE run = ? AND key = ? AND `+onDecided.condition())
		if err != nil {
			return err
		}
		common := bases{tx: tx}
		args := make([]any, 0, len(decidedColumns)+2)
		var row itemRow
		for _, i := range items {
			if err := row.fill(ctx, onDecided, i, &common); err != nil {
				return err
			}
			args = append(decidedColumns.Values(args[:0], &row), run, i.Key)
			if err := changesOne(update.ExecContext(ctx, args...)); err != nil {
				return fmt.Errorf("%s: %w", i.Key, err)
			}
			if err := dropPrevious(ctx, tx, run, i); err != nil {
				return fmt.Errorf("%s: %w", i.PreviousKey, err)
			}
		}
		return nil
	})
}

// DropItems deletes the items of a run with a reason. The run is being planned.
func (s *Store) DropItems(ctx context.Context, run int64, reason string) error {
	return s.Write(ctx, "delete items", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM items WHERE run = ? AND reason = ? AND `+onDecidedMove.condition(), run, reason)
		return err
	})
}

// dropPrevious deletes the item under the previous key of a moved object.
func dropPrevious(ctx context.Context, tx *sql.Tx, run int64, i Item) error {
	if i.Joins() || i.PreviousKey == "" || i.PreviousKey == i.Key {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM items WHERE run = ? AND key = ? AND `+onDecidedMove.condition(), run, i.PreviousKey)
	return err
}

// An itemRow is an item as its columns are.
type itemRow struct {
	Item
	base          sql.NullInt64 // written
	based         bool          // read
	changed       int64
	attempts      int64
	intentAt, due int64 // 0: none
}

// itemTable has the columns of an item, without its run.
var itemTable = Columns[itemRow]{
	{Name: "key", Value: func(r *itemRow) any { return r.Key }, Into: func(r *itemRow) any { return &r.Key }},
	{Name: "size", Value: func(r *itemRow) any { return r.Size }, Into: func(r *itemRow) any { return &r.Size }},
	{Name: "time", Value: func(r *itemRow) any { return nanos(r.Time) }, Into: func(r *itemRow) any { return &r.changed }},
	{Name: "version_tag", Value: func(r *itemRow) any { return r.VersionTag }, Into: func(r *itemRow) any { return &r.VersionTag }},
	{Name: "obstacle", Value: func(r *itemRow) any { return string(r.Obstacle) }, Into: func(r *itemRow) any { return (*string)(&r.Obstacle) }},
	{Name: "action", Value: func(r *itemRow) any { return unlessEmpty(string(r.Action)) }, // none until it is decided
		Read: `coalesce(action, '')`, Into: func(r *itemRow) any { return (*string)(&r.Action) }},
	{Name: "reason", Value: func(r *itemRow) any { return r.Reason }, Into: func(r *itemRow) any { return &r.Reason }},
	{Name: "state", Value: func(r *itemRow) any { return string(r.State) }, Into: func(r *itemRow) any { return (*string)(&r.State) }},
	{Name: "base", Value: func(r *itemRow) any { return r.base }, Read: `base IS NOT NULL`, Into: func(r *itemRow) any { return &r.based }},
	{Name: "category", Value: func(r *itemRow) any { return r.Category }, Read: categoryColumn, Into: func(r *itemRow) any { return &r.Category }},
	{Name: "folder", Value: func(r *itemRow) any { return r.Folder }, Into: func(r *itemRow) any { return &r.Folder }},
	{Name: "name", Value: func(r *itemRow) any { return r.Name }, Into: func(r *itemRow) any { return &r.Name }},
	{Name: "slot", Value: func(r *itemRow) any { return r.Slot }, Into: func(r *itemRow) any { return &r.Slot }},
	{Name: "checksum", Value: func(r *itemRow) any { return r.Checksum }, Into: func(r *itemRow) any { return &r.Checksum }},
	{Name: "attempts", Into: func(r *itemRow) any { return &r.attempts }},
	{Name: "intent_at", Read: `coalesce(intent_at, 0)`, Into: func(r *itemRow) any { return &r.intentAt }},
	{Name: "retry_at", Read: `coalesce(retry_at, 0)`, Into: func(r *itemRow) any { return &r.due }},
	{Name: "asset", Value: func(r *itemRow) any { return r.Asset }, Into: func(r *itemRow) any { return &r.Asset }},
	{Name: "class", Value: func(r *itemRow) any { return r.Class }, Into: func(r *itemRow) any { return &r.Class }},
	{Name: "error", Value: func(r *itemRow) any { return r.Error }, Into: func(r *itemRow) any { return &r.Error }},
	{Name: "previous_key", Value: func(r *itemRow) any { return r.PreviousKey }, Into: func(r *itemRow) any { return &r.PreviousKey }},
	{Name: "content_type", Value: func(r *itemRow) any { return unlessEmpty(r.ContentType) }, Into: func(r *itemRow) any { return (*textOrNull)(&r.ContentType) }},
}

// The columns and statements of items.
var (
	stagedColumns = itemTable.Only("key", "size", "time", "version_tag", "obstacle", "action", "reason", "state",
		"base", "category", "folder", "name", "slot", "asset", "class", "error", "content_type", "previous_key")
	decidedColumns = itemTable.Only("action", "reason", "state", "base", "category", "folder",
		"name", "slot", "checksum", "asset", "class", "error", "previous_key")
	ownColumns      = itemTable.Only("key", "size", "time", "version_tag", "slot")
	ownAssetColumns = itemTable.Only("key", "size", "time", "version_tag", "slot", "asset")
	itemColumns     = itemTable.Reads()

	insertAny    = insertMany{`INSERT INTO items (run, ` + stagedColumns.Names() + `) VALUES `, `?1, ` + stagedColumns.Marks(), onlyNew}
	insertAlike  = insertWith(ownColumns)
	insertAssets = insertWith(ownAssetColumns)

	// Each row ends with the number of its likeness.
	insertMixed = insertMany{`INSERT INTO items (run, action, reason, state, base, folder, obstacle, ` + ownColumns.Names() + `)
		SELECT ?1, ` + ofLikeness(0) + `, ` + ofLikeness(1) + `, ` + ofLikeness(2) + `, ` + ofLikeness(3) + `, ` + ofLikeness(4) + `,
		'', column1, column2, column3, column4, column5 FROM (VALUES `, ownColumns.Marks() + `, ?`, `) WHERE true` + onlyNew}
)

// insertWith inserts items of one likeness, with columns of their own.
func insertWith(own Columns[itemRow]) insertMany {
	return insertMany{`INSERT INTO items (run, action, reason, state, base, folder, obstacle, ` + own.Names() + `) VALUES `,
		`?1, ?2, ?3, ?4, ?5, ?6, '', ` + own.Marks(), onlyNew}
}

// ofLikeness selects a value of the likeness of a row, by its position in likeness.values. The
// first parameter is the run.
func ofLikeness(value int) string {
	const values = 5
	return fmt.Sprintf(`CASE column6 WHEN 0 THEN ?%d WHEN 1 THEN ?%d ELSE ?%d END`, value+2, value+2+values, value+2+2*values)
}

const onlyNew = ` ON CONFLICT (run, key) DO NOTHING`

// fill fills the row of an item after an event.
func (r *itemRow) fill(ctx context.Context, on event, i Item, common *bases) (err error) {
	if err := on.leadsTo(i.State); err != nil {
		return fmt.Errorf("%s: %w", i.Key, err)
	}
	r.Item = i
	if r.base, err = common.ofItem(ctx, i); r.base.Valid {
		r.Category, r.Name = "", ""
	}
	return err
}

func scanItems() func(*sql.Rows) (Item, error) { return scanner(itemTable, (*itemRow).item) }

// scanItemAnd scans one row with more columns.
func scanItemAnd(rows *sql.Rows, more ...any) (Item, error) {
	var r itemRow
	err := rows.Scan(itemTable.Targets(&r, more...)...)
	return r.item(), err
}

func (r *itemRow) item() Item {
	i := r.Item
	if r.based {
		i.Name = baseName(string(i.Key))
	}
	i.Attempts = int(r.attempts)
	i.Time = fromNanos(r.changed)
	if r.intentAt != 0 {
		i.IntentAt = fromMillis(r.intentAt)
	}
	if r.due != 0 {
		i.RetryAt = fromMillis(r.due)
	}
	return i
}

// Items lists the items of a run in key order, those in the given states or all.
func (s *Store) Items(ctx context.Context, run int64, states ...ItemState) iter.Seq2[Item, error] {
	where, args := inStates(states)
	from := ` items WHERE run = ?1`
	if len(states) > 0 && !slices.ContainsFunc(states, func(st ItemState) bool { return !st.isInFlight() }) {
		from = inFlightOf
	}
	return paged(s.r, "", func(i Item) sources.Key { return i.Key }, func(after sources.Key) ([]Item, error) {
		return query(ctx, s.r, "list items", scanItems(), `SELECT `+itemColumns+` FROM`+from+`
			AND key > ?`+where+` ORDER BY key LIMIT ?`, slices.Concat([]any{run, after}, args, []any{PageSize})...)
	})
}

func inStates(states []ItemState) (where string, args []any) {
	if len(states) == 0 {
		return "", nil
	}
	for _, st := range states {
		args = append(args, st)
	}
	return ` AND state IN ` + List(len(states)), args
}

// Item returns one item of a run; ErrNotFound if there is none.
func (s *Store) Item(ctx context.Context, run int64, key sources.Key) (Item, error) {
	items, err := query(ctx, s.r, "find item", scanItems(),
		`SELECT `+itemColumns+` FROM items WHERE run = ? AND key = ?`, run, key)
	return First(items, err, "item "+string(key))
}

// noTime is an unknown time; 0 is the year 1970.
const noTime = math.MinInt64

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
