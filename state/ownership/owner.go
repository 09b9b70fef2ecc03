// Package ownership determines whether this process may use a state database: which process owns
// it, whether its files are those that this machine last wrote, whether only this account can write
// to its folder, and which account this is. Package state calls it before it reads or writes a
// state database.
package ownership

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"assetferry/internal/shell"
	"assetferry/state/actionlog"
)

// Errors that callers branch on.
var (
	ErrNotOwner = errors.New("another process owns the state database now")
	ErrInUse    = errors.New("the state database is in use")
	ErrDistrust = errors.New("the state database was changed outside of assetferry")
)

// An Owner is the process that owns a state database.
type Owner struct {
	PID   int
	Host  string
	Since time.Time
}

// String shows which process it is, and since when.
func (o Owner) String() string {
	return fmt.Sprintf("process %d on %s since %s", o.PID, o.Host, o.Since.Local().Format(time.DateTime))
}

// A StoredOwner is the identity and the last owner that a state database stores.
type StoredOwner struct {
	Owner
	StateID string
	Seq     int64 // of the last write
	Open    bool  // its last owner did not close it
}

// Read returns the stored owner, or sql.ErrNoRows if the state database never had one.
func Read(ctx context.Context, db *sql.DB) (h StoredOwner, err error) {
	var since int64
	err = db.QueryRowContext(ctx, `SELECT state_id, seq, epoch <> '', pid, host, since FROM owner`).
		Scan(&h.StateID, &h.Seq, &h.Open, &h.PID, &h.Host, &since)
	h.Since = time.UnixMilli(since).UTC()
	return h, err
}

// Trust reports why the state database at path must not be used as it is. After a power cut the time of
// the lock file may be later than its content, so it counts only if the state database was closed.
func (h StoredOwner) Trust(path, host string, left Trace, m *Mark) error {
	if h.Open && h.Host != host {
		return &InUseError{Path: path, Owner: h.Owner, Elsewhere: true}
	}
	if why := h.Wrong(left, m); why != "" {
		return &DistrustError{Path: path, Reason: why}
	}
	if left.Seq > 0 && (!h.Open && m.isTouched(left) || left.Generation > left.Entry+1 || left.Entry == 0) {
		return &DistrustError{Path: path, Reason: "its files were changed since, so it may be a restored copy", Touched: true}
	}
	return nil
}

// Wrong describes how a state database differs from its mark, or how far it is behind. It returns
// "" if they match.
func (h StoredOwner) Wrong(left Trace, m *Mark) string {
	switch {
	case h.Seq == 0 && left.Seq == 0: // it has no writes
	case left.ID == "":
		return "it was not created on this machine, was moved without its lock file, or its lock file is damaged"
	case left.ID != h.StateID && h.Seq > 0:
		return "it is another state database than the previous one at this path"
	case h.Seq < left.Seq:
		return fmt.Sprintf("it lacks its last %d writes: an older copy was restored, or its write-ahead log was lost", left.Seq-h.Seq)
	case left.Generation < left.Entry:
		return "older copies of all its files were restored"
	case m.isCopied(left), left.Born == 0 && m.isTouched(left):
		return "it seems to be a copy, with all its files, which lacks everything that happened since"
	}
	return ""
}

// Enter writes that this process is the owner from now on, by an epoch that names it in every write.
// It returns the end of the action log.
func Enter(ctx context.Context, tx *sql.Tx, stateID, epoch, host string, now time.Time) (log actionlog.Head, err error) {
	err = tx.QueryRowContext(ctx, `INSERT INTO owner (id, state_id, seq, epoch, pid, host, since) VALUES (1, ?, 0, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, pid = excluded.pid, host = excluded.host, since = excluded.since
		RETURNING log_entries, log_head`, stateID, epoch, os.Getpid(), host, now.UnixMilli()).Scan(&log.Entries, &log.Checksum)
	return log, err
}

// Count counts a write of the owner. It returns the number of the write, and the end of the action
// log; ErrNotOwner if another process owns the state database.
func Count(ctx context.Context, tx *sql.Tx, epoch string) (seq int64, log actionlog.Head, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE owner SET seq = seq + 1 WHERE epoch = ? RETURNING seq, log_entries, log_head`, epoch).
		Scan(&seq, &log.Entries, &log.Checksum)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, log, ErrNotOwner
	}
	return seq, log, err
}

// Leave records that no process owns the state database any more.
func Leave(ctx context.Context, db *sql.DB, epoch string) error {
	_, err := db.ExecContext(ctx, `UPDATE owner SET epoch = '' WHERE epoch = ?`, epoch)
	return err
}

// An InUseError names the process that owns a state database. It is an ErrInUse.
type InUseError struct {
	Path      string
	Owner     Owner // zero if it could not be found out
	Elsewhere bool  // on another machine, where the process cannot be checked
}

func (e *InUseError) Error() string {
	if e.Owner == (Owner{}) {
		return fmt.Sprintf("the state database %s is in use by another process", e.Path)
	}
	if e.Elsewhere {
		return fmt.Sprintf("the state database %s was not closed by process %d on %s, which opened it at %s",
			e.Path, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("the state database %s is in use by process %d on %s since %s",
		e.Path, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.DateTime))
}

// Is reports that every InUseError is an ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// Hint returns the next step for the user.
func (e *InUseError) Hint() string {
	if e.Elsewhere {
		return "if that process is still running, wait until it ends. If it ended without closing the file, take over the state database:\n  assetferry state takeover --state " + shell.Word(e.Path)
	}
	return "wait until the other process ends; two at once would upload everything twice"
}

// A DistrustError says how a state database has changed since it was last used here. It is an
// ErrDistrust.
type DistrustError struct {
	Path, Reason string
	// Touched says that the file may only have got another owner or permissions, as on systems that
	// assign files to the user of each run. A command that checks the destination before uploads
	// may use it without a takeover.
	Touched bool
}

func (e *DistrustError) Error() string {
	return fmt.Sprintf("the state database %s was changed outside of assetferry: %s", e.Path, e.Reason)
}

// Is reports that every DistrustError is an ErrDistrust.
func (e *DistrustError) Is(target error) bool { return target == ErrDistrust }

// Hint returns the next step for the user.
func (e *DistrustError) Hint() string {
	return "make sure that no other process uses it, then take over the state database; existing assets are found and not uploaded again:\n  assetferry state takeover --state " + shell.Word(e.Path)
}
