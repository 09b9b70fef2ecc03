package state

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"assetferry/sources"
)

// An Outcome is the result of an attempt at an item, with a receipt if it is done or sent. An item
// that was sent keeps its asset and needs no other receipt.
type Outcome struct {
	Key     sources.Key
	State   ItemState // one to which onRecord leads
	Class   string
	Error   string
	RetryAt time.Time // of a items scheduled for retry
	Receipt *Receipt
	// MetadataPending says that a sent item is done without metadata.
	MetadataPending bool
	// Misnamed says that a failed item lacks only its name.
	Misnamed bool
	// Unclear says that a failed item may have been uploaded.
	Unclear bool
	// Undone says that the asset of a finished item is not at the destination any more, so there is
	// no receipt. In an undo it says that the asset and its receipt are as before the undone run.
	Undone bool
	// InsteadOf is the key of the receipt that Receipt replaces; empty if the object has none.
	InsteadOf sources.Key
	// Described is the metadata of a finished item as JSON, if it was written into the asset; empty
	// otherwise.
	Described string
	// Found is the found metadata by metadata source, as JSON; empty if there is none.
	Found string
	// Fields are the found fields, including those that are not stored.
	Fields []FoundField
	// URLs are those that the object had, as was found.
	AssetURLs []string
	// Joins is the key of the object whose asset a finished item shares: it gets an alias and no
	// receipt.
	Joins sources.Key
	// Modified is the modification time, by the service, of the asset of an item that was sent
	// before or is undone; see Receipt.
	Modified time.Time
	// Version is the number of the older version that an attempt was about; 0 for the object itself.
	// If State is done, the item goes on with the next version: it is being sent from NextIntent on,
	// or planned if that is zero. Without a receipt, the version is omitted because of Error.
	Version    int
	NextIntent time.Time
	// KeepsRevision says that the run brings older versions, so the replaced content is recorded as
	// a revision.
	KeepsRevision bool
	// Taken is the tally of the item alone, as it was taken. If it is not given, it is read.
	Taken Tally
}

// lacksMetadata reports whether the asset of an item lacks its metadata.
func (o Outcome) lacksMetadata() bool { return o.State != ItemDone && !o.Misnamed || o.Version > 0 }

// itemState returns the state of the item after the outcome.
func (o Outcome) itemState() ItemState {
	switch {
	case !o.GoesOn():
		return o.State
	case o.NextIntent.IsZero():
		return ItemPlanned
	}
	return ItemSending
}

// Record stores outcomes of items that are being sent, were sent, or are unconfirmed. If the asset
// belongs to another object, the item fails; its outcome in outcomes is changed then.
func (s *Store) Record(ctx context.Context, run, pair int64, outcomes []Outcome) error {
	_, err := s.Advance(ctx, run, pair, outcomes, Next{})
	return err
}

// Advance is Record, and Take if items are wanted, in one transaction: waiting for the disk is most
// of the cost.
func (s *Store) Advance(ctx context.Context, run, pair int64, outcomes []Outcome, next Next) (taken []Item, err error) {
	err = s.Write(ctx, "record outcomes", func(ctx context.Context, tx *sql.Tx) (err error) {
		ctx = context.WithoutCancel(ctx) // SQLite's driver would start a goroutine for each statement
		if err := s.record(ctx, tx, run, pair, outcomes); err != nil || next.N == 0 {
			return err
		}
		taken, err = takeNext(ctx, tx, run, next)
		return err
	})
	return taken, err
}

func (s *Store) record(ctx context.Context, tx *sql.Tx, run, pair int64, outcomes []Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	now, err := arrivalTime(ctx, tx, pair, s.now())
	if err != nil {
		return err
	}
	r := recorder{tx: tx, run: run, pair: pair, now: now.UnixMilli(), bases: bases{tx: tx}}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for n := range outcomes {
		if err := r.record(ctx, &outcomes[n]); err != nil {
			return fmt.Errorf("%s: %w", outcomes[n].Key, err)
		}
	}
	if err := r.tally(ctx, outcomes); err != nil {
		return err
	}
	if err := r.countFields(ctx, outcomes); err != nil {
		return err
	}
	if err := r.made.addTo(ctx, tx, pair); err != nil {
		return err
	}
	return r.count(ctx, outcomes)
}

// A recorder records outcomes within a transaction, which closes its statements.
type recorder struct {
	tx              *sql.Tx
	run, pair, now  int64
	receipt, update *sql.Stmt
	forgetFailures  *sql.Stmt // nil if the pair has no failures
	alone           *sql.Stmt // nil if it has no aliases
	description     *sql.Stmt // nil until there is one
	described       *sql.Stmt // the same
	args            []any     // of the last receipt
	bases           bases
	made            ReceiptSum // less the deleted ones
}

func (r *recorder) prepare(ctx context.Context) (err error) {
	if r.receipt, err = r.tx.PrepareContext(ctx, insertReceipt); err != nil {
		return err
	}
	var failed bool
	if err := r.tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM failures WHERE pair = ?)`, r.pair).Scan(&failed); err != nil {
		return err
	}
	if failed {
		if r.forgetFailures, err = r.tx.PrepareContext(ctx, `DELETE FROM failures WHERE pair = ? AND key = ?`); err != nil {
			return err
		}
	}
	var aliases bool
	if err := r.tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM aliases WHERE pair = ?)`, r.pair).Scan(&aliases); err != nil {
		return err
	}
	if aliases {
		if r.alone, err = r.tx.PrepareContext(ctx, `DELETE FROM aliases WHERE pair = ? AND key = ?`); err != nil {
			return err
		}
	}
	r.update, err = r.tx.PrepareContext(ctx, `UPDATE items SET state = ?, asset = CASE ? WHEN '' THEN asset ELSE ? END,
		class = ?, error = ?, retry_at = ? WHERE run = ? AND key = ? AND `+onRecord.condition())
	return err
}

func (r *recorder) record(ctx context.Context, o *Outcome) error {
	if err := onRecord.leadsTo(o.State); err != nil {
		return err
	}
	asset, err := r.resolve(ctx, o)
	if err != nil {
		return err
	}
	for _, keep := range []func(context.Context, Outcome) error{r.note, r.saveOldURLs, r.recordAttempt} {
		if err := keep(ctx, *o); err != nil {
			return err
		}
	}
	if o.GoesOn() {
		return r.goOn(ctx, *o, asset)
	}
	if err := r.endHistory(ctx, *o); err != nil {
		return err
	}
	var due any
	if o.State == ItemRetryScheduled {
		due = o.RetryAt.UnixMilli()
	}
	return changesOne(r.update.ExecContext(ctx, o.State, asset, asset, o.Class, o.Error, due, r.run, o.Key))
}

// resolve stores the result of an outcome, and returns the asset if it is new for the item.
func (r *recorder) resolve(ctx context.Context, o *Outcome) (asset string, err error) {
	switch {
	case o.omits(): // what has arrived so far stays as it is
		return "", nil
	case o.Undone:
		return "", r.undoReceipt(ctx, *o)
	case o.Receipt != nil:
		return r.receive(ctx, o)
	case o.Joins != "":
		return r.joinAlias(ctx, o)
	case o.State == ItemDone && !o.MetadataPending:
		_, err := r.tx.ExecContext(ctx, `UPDATE receipts SET metadata_pending = 0, modified = coalesce(?3, modified),
			run = CASE WHEN EXISTS (SELECT 1 FROM former f WHERE f.run = ?4 AND f.key = ?2) THEN ?4 ELSE run END
			WHERE pair = ?1 AND key = ?2`, r.pair, o.Key, millis(o.Modified), r.run)
		return "", err
	}
	return "", nil
}

// receive stores the receipt of an object. If the asset belongs to another object, the outcome
// becomes a failure.
func (r *recorder) receive(ctx context.Context, o *Outcome) (asset string, err error) {
	err = r.replaceReceipt(ctx, o)
	if isTaken(err) {
		*o = Outcome{Key: o.Key, Taken: o.Taken, State: ItemFailed, Class: "permanent",
			Error: fmt.Sprintf("the service returned asset %s, but it belongs to another object", o.Receipt.Asset)}
		return "", nil
	} else if err != nil {
		return "", err
	}
	r.made = r.made.plus(ReceiptSum{1, o.Receipt.Size})
	return o.Receipt.Asset, r.dropAlias(ctx, o.Key)
}

// dropAlias notes that an object has an asset of its own.
func (r *recorder) dropAlias(ctx context.Context, key sources.Key) error {
	if r.alone == nil {
		return nil
	}
	_, err := r.alone.ExecContext(ctx, r.pair, key)
	return err
}

// undoReceipt deletes the receipt of an object and its storage metadata. An undo then restores
// those from before the undone run.
func (r *recorder) undoReceipt(ctx context.Context, o Outcome) error {
	forgotten, err := forgetReceipt(ctx, r.tx, r.pair, o.Key)
	if err != nil {
		return err
	}
	if err := forgetDescribed(ctx, r.tx, r.pair, o.Key); err != nil {
		return err
	}
	if err := forgetPlaces(ctx, r.tx, r.pair, r.run, `key = ? AND action = 'trash'`, o.Key); err != nil {
		return err
	}
	back, err := restoreFormer(ctx, r.tx, r.pair, r.run, time.UnixMilli(r.now), `?2`, o.Key)
	if err != nil {
		return err
	}
	if back.Objects > 0 && !o.Modified.IsZero() {
		if _, err := r.tx.ExecContext(ctx, `UPDATE receipts SET modified = ?4 WHERE pair = ?1
			AND key = (SELECT receipt ->> '$.key'`+ofUndone+` AND key = ?2)`, r.pair, o.Key, r.run, millis(o.Modified)); err != nil {
			return err
		}
	}
	r.made = r.made.less(forgotten).plus(back)
	return nil
}

// replaceReceipt stores a receipt in place of the previous one, if any. If it is refused, the
// previous one stays.
func (r *recorder) replaceReceipt(ctx context.Context, o *Outcome) error {
	if o.InsteadOf == "" {
		return r.saveReceipt(ctx, *o.Receipt, inherited{}, o.lacksMetadata())
	}
	if _, err := r.tx.ExecContext(ctx, `SAVEPOINT replacement`); err != nil {
		return err
	}
	if err := r.keepRevision(ctx, *o); err != nil {
		return err
	}
	made := r.made
	known, err := r.removePrevious(ctx, o)
	if err != nil {
		return err
	}
	err = r.saveReceipt(ctx, *o.Receipt, known, o.lacksMetadata())
	if isTaken(err) {
		r.made, r.bases = made, bases{tx: r.tx}
		if _, err := r.tx.ExecContext(ctx, `ROLLBACK TO replacement`); err != nil {
			return err
		}
	}
	_, released := r.tx.ExecContext(ctx, `RELEASE replacement`)
	return cmp.Or(err, released)
}

// removePrevious deletes the receipt that another one replaces, and returns the inherited values:
// the URLs of the image in other sizes, and the time and run of the content for a move. The source
// metadata of a moved object moves with it.
func (r *recorder) removePrevious(ctx context.Context, o *Outcome) (known inherited, err error) {
	err = r.tx.QueryRowContext(ctx, `SELECT images, CASE WHEN ?5 THEN coalesce(content_run, run) END, CASE WHEN ?5 THEN `+arrivedAt+` END
		FROM receipts r WHERE pair = ?1 AND key = ?2 AND asset = ?3 AND (NOT ?5 OR checksum = ?4)
		UNION ALL SELECT images, NULL, NULL FROM receipts WHERE pair = ?1 AND key = ?2 AND asset = ?3 LIMIT 1`,
		r.pair, o.InsteadOf, o.Receipt.Asset, o.Receipt.Checksum, o.InsteadOf != o.Key).Scan(&known.images, &known.contentRun, &known.contentAt)
	if errors.Is(err, sql.ErrNoRows) {
		if err = forgetDescribed(ctx, r.tx, r.pair, o.InsteadOf); err == nil {
			err = r.noteReplaced(ctx, o.InsteadOf)
		}
	}
	if err != nil {
		return known, err
	}
	if o.InsteadOf != o.Key && o.Receipt.Description == nil {
		if o.Receipt.Description, err = descriptionOf(ctx, r.tx, r.pair, o.InsteadOf); err != nil {
			return known, err
		}
	}
	if o.InsteadOf != o.Key {
		if _, err := r.tx.ExecContext(ctx, `UPDATE OR REPLACE described SET key = ? WHERE pair = ? AND key = ?`, o.Key, r.pair, o.InsteadOf); err != nil {
			return known, err
		}
		if err := r.rename(ctx, o.InsteadOf, o.Key); err != nil {
			return known, err
		}
	}
	forgotten, err := forgetReceipt(ctx, r.tx, r.pair, o.InsteadOf)
	r.made = r.made.less(forgotten)
	return known, err
}

// tally adds the items of the outcomes to the tallies of their new states; before, they were in
// flight. No item has two outcomes at once: it is not taken again before the first is recorded.
func (r *recorder) tally(ctx context.Context, outcomes []Outcome) error {
	change := recount{}
	var unknown []any
	for _, o := range outcomes {
		if o.Taken.Objects == 0 {
			unknown = append(unknown, o.Key)
			continue
		}
		t := o.Taken
		t.State = o.itemState()
		change.add(t, 1)
	}
	if err := r.tallyUnknown(ctx, change, unknown); err != nil {
		return err
	}
	return change.write(ctx, r.tx, r.run)
}

// tallyAtOnce is how many items one statement sums up.
const tallyAtOnce = 500

// tallyUnknown adds items, by their keys, to the tallies of their states.
func (r *recorder) tallyUnknown(ctx context.Context, change recount, keys []any) error {
	for chunk := range slices.Chunk(keys, tallyAtOnce) {
		rows, err := r.tx.QueryContext(ctx, `SELECT action, reason, state, count(*), sum(size) FROM items
			WHERE run = ? AND key IN `+List(len(chunk))+` GROUP BY 1, 2, 3`, append([]any{r.run}, chunk...)...)
		if err != nil {
			return err
		}
		tallies, err := scanAll(rows, scanTally)
		if err != nil {
			return err
		}
		for _, t := range tallies {
			change.add(t, 1)
		}
	}
	return nil
}

// isTaken reports whether the error is a second receipt for one asset.
func isTaken(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// recordAttempt stores every failed attempt, and counts failing objects.
func (r *recorder) recordAttempt(ctx context.Context, o Outcome) error {
	switch {
	case o.omits():
		o.Error = fmt.Sprintf("older version %d: %s", o.Version, o.Error)
		return r.addAttempt(ctx, o)
	case o.State == ItemDone && r.forgetFailures == nil:
		return nil
	case o.State == ItemDone:
		_, err := r.forgetFailures.ExecContext(ctx, r.pair, o.Key)
		return err
	}
	if err := r.clearFailure(ctx, o); err != nil || o.State == ItemSent {
		return err
	}
	if err := r.addAttempt(ctx, o); err != nil {
		return err
	}
	if o.State == ItemFailed && o.Joins == "" || o.Unclear {
		return countFailure(ctx, r.tx, r.run, o)
	}
	return nil
}

func (r *recorder) addAttempt(ctx context.Context, o Outcome) error {
	_, err := r.tx.ExecContext(ctx, `INSERT INTO attempts (run, key, attempt, at, class, error)
		SELECT run, key, attempts, ?, ?, ? FROM items WHERE run = ? AND key = ?`, r.now, o.Class, o.Error, r.run, o.Key)
	return err
}

// clearFailure deletes the failure of an object that has a receipt now.
func (r *recorder) clearFailure(ctx context.Context, o Outcome) error {
	if o.Receipt == nil {
		return nil
	}
	_, err := r.tx.ExecContext(ctx, `UPDATE failures SET unclear = 0 WHERE pair = ? AND key = ?`, r.pair, o.Key)
	return err
}
