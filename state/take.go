package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"assetferry/sources"
)

// A Next selects the planned items to take: at most N after a key. Time is that of the server.
type Next struct {
	After sources.Key
	N     int
	Time  time.Time
	Of    Kind
}

// A Kind is a group of actions that are applied in the same way.
type Kind int

// The kinds: all; items processed one by one; moves and trashed items, many per request; and items
// that share the asset of another object.
const (
	AnyKind Kind = iota
	OneByOne
	Moves
	Trashes
	Joins
)

// Has reports whether an item is of the kind.
func (k Kind) Has(i Item) bool {
	switch k {
	case OneByOne:
		return i.Action != Move && i.Action != Trash && !i.Joins()
	case Moves:
		return i.Action == Move
	case Trashes:
		return i.Action == Trash
	case Joins:
		return i.Joins()
	}
	return true
}

// condition chooses the items of a kind in SQL.
func (k Kind) condition() string {
	switch k {
	case OneByOne:
		return ` AND action <> 'move' AND action <> 'trash' AND (action <> 'adopt' OR previous_key = '')`
	case Moves:
		return ` AND action = 'move'`
	case Trashes:
		return ` AND action = 'trash'`
	case Joins:
		return ` AND action = 'adopt' AND previous_key <> ''`
	}
	return ""
}

// Take marks the next planned items after a key as being sent, so that the
// intent is durable before any effect, and returns them in key order. The run
// must be applying.
func (s *Store) Take(ctx context.Context, run int64, next Next) (items []Item, err error) {
	err = s.Write(ctx, "take items", func(ctx context.Context, tx *sql.Tx) (err error) {
		items, err = takeNext(ctx, tx, run, next)
		return err
	})
	return items, err
}

func takeNext(ctx context.Context, tx *sql.Tx, run int64, next Next) ([]Item, error) {
	if err := onTake.isPossible(ctx, tx, run); err != nil {
		return nil, err
	}
	chosen := ` WHERE run = ? AND key > ? AND ` + onTake.condition() + next.Of.condition()
	rows, err := tx.QueryContext(ctx, `SELECT `+itemColumns+` FROM items`+chosen+` ORDER BY key LIMIT ?`, run, next.After, next.N)
	if err != nil {
		return nil, err
	}
	items, err := scanAll(rows, scanItems())
	if err != nil || len(items) == 0 {
		return nil, err
	}
	intent := next.Time.UnixMilli()
	marked, err := tx.ExecContext(ctx, `UPDATE items SET state = 'sending', attempts = attempts + 1, intent_at = ?`+chosen+`
		AND key <= ?`, intent, run, next.After, items[len(items)-1].Key)
	if err := changes(int64(len(items)), marked, err); err != nil {
		return nil, err
	}
	change := recount{}
	for n := range items {
		i := &items[n]
		change.add(Tally{i.Action, i.Reason, ItemPlanned, 1, i.Size}, -1)
		i.State, i.Attempts, i.IntentAt = ItemSending, i.Attempts+1, fromMillis(intent)
	}
	return items, change.write(ctx, tx, run)
}

// TakeDue is Take for due items scheduled for retry, the longest waiting first.
func (s *Store) TakeDue(ctx context.Context, run int64, now time.Time, n int, serverTime time.Time) (items []Item, err error) {
	err = s.Write(ctx, "take items", func(ctx context.Context, tx *sql.Tx) (err error) {
		items, err = take(ctx, tx, run, serverTime, `SELECT key FROM`+inFlightOf+` AND `+onTakeDue.condition()+` AND retry_at <= ?3
			ORDER BY retry_at, key LIMIT ?4`, now.UnixMilli(), n)
		return err
	})
	return items, err
}

// take marks the items as being sent whose keys a query returns.
func take(ctx context.Context, tx *sql.Tx, run int64, serverTime time.Time, keys string, args ...any) (items []Item, err error) {
	if err := onTakeDue.isPossible(ctx, tx, run); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, `UPDATE items SET state = 'sending', attempts = attempts + 1, intent_at = ?2, retry_at = NULL
		WHERE run = ?1 AND key IN (`+keys+`) RETURNING `+itemColumns, append([]any{run, serverTime.UnixMilli()}, args...)...)
	if err != nil {
		return nil, err
	}
	return scanAll(rows, scanItems())
}

// NextRetry returns the time of the next retry of a run, and the number of items scheduled for
// retry; the zero time if there is none.
func (s *Store) NextRetry(ctx context.Context, run int64) (due time.Time, retryScheduled int64, err error) {
	var first int64
	err = s.r.row(ctx, "find next retry", `SELECT coalesce(min(retry_at), 0), count(*) FROM`+inFlightOf+` AND state = 'retry_scheduled'`, run).
		Scan(&first, &retryScheduled)
	if retryScheduled > 0 {
		due = fromMillis(first)
	}
	return due, retryScheduled, err
}

// Resend marks unconfirmed items that are not at the destination as being sent once more.
func (s *Store) Resend(ctx context.Context, run int64, keys []sources.Key, serverTime time.Time) error {
	return s.Write(ctx, "send again", func(ctx context.Context, tx *sql.Tx) error {
		for _, key := range keys {
			if err := One(ctx, tx, `UPDATE items SET state = 'sending', attempts = attempts + 1, intent_at = ?, error = '', class = ''
				WHERE run = ? AND key = ? AND `+onResend.condition(), serverTime.UnixMilli(), run, key); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return nil
	})
}

// Resize stores the size and the version tag of an item that is being sent, whose content has another
// size than the source lists.
func (s *Store) Resize(ctx context.Context, run int64, i Item) error {
	return s.Write(ctx, "store size of content", func(ctx context.Context, tx *sql.Tx) error {
		return One(ctx, tx, `UPDATE items SET size = ?, version_tag = ? WHERE run = ? AND key = ? AND state = 'sending'`, i.Size, i.VersionTag, run, i.Key)
	})
}

// Release releases items that were taken and certainly not sent. A move may have been applied in
// part, so the stored state of its asset stays.
func (s *Store) Release(ctx context.Context, run int64, keys []sources.Key) error {
	return s.Write(ctx, "release items", func(ctx context.Context, tx *sql.Tx) error {
		change := recount{}
		for _, key := range keys {
			i := Tally{Objects: 1}
			err := tx.QueryRowContext(ctx, `UPDATE items SET state = 'planned', attempts = attempts - 1, intent_at = NULL
				WHERE run = ? AND key = ? AND `+onRelease.condition()+` RETURNING action, reason, state, size`, run, key).
				Scan(&i.Action, &i.Reason, &i.State, &i.Bytes)
			if errors.Is(err, sql.ErrNoRows) {
				err = ErrConflict
			}
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			if err := holdFormer(ctx, tx, `run = ? AND key = ?`, run, key); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			change.add(i, 1)
		}
		return change.write(ctx, tx, run)
	})
}

// OthersUnconfirmed counts the items of other sources of a destination that were taken after a
// time, are being sent or unconfirmed, and may create or change assets. It also returns the size of
// the largest.
func (s *Store) OthersUnconfirmed(ctx context.Context, pair Pair, after time.Time) (n, largest int64, err error) {
	err = s.r.row(ctx, "count unconfirmed items of other sources", `SELECT count(*), coalesce(max(size), 0) FROM pairs p JOIN runs r ON r.pair = p.id JOIN items ON run = r.num
		WHERE p.destination = ? AND p.id <> ? AND action NOT IN ('trash', 'update_metadata') AND `+inFlight+`
		AND items.state <> 'sent' AND items.state <> 'retry_scheduled' AND intent_at > ?`, pair.Destination, pair.ID, after.UnixMilli()).Scan(&n, &largest)
	return n, largest, err
}

// Interrupted marks every item that a former process was sending as unconfirmed, and returns all
// unconfirmed items: about as many as that process had in hand. Items that were sent are not among
// them: their assets are known.
func (s *Store) Interrupted(ctx context.Context, run int64) ([]Item, error) {
	err := s.Write(ctx, "recover interrupted items", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE items SET state = 'unconfirmed', class = 'transient', error = 'the process ended while sending'
			WHERE run = ?1 AND key IN (SELECT key FROM`+inFlightOf+` AND `+onInterrupted.condition()+`)`, run)
		return err
	})
	if err != nil {
		return nil, err
	}
	return query(ctx, s.r, "list unconfirmed items", scanItems(),
		`SELECT `+itemColumns+` FROM`+inFlightOf+` AND state = 'unconfirmed' ORDER BY key`, run)
}
