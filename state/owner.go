package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"assetferry/internal/filelock"
)

// An Owner is the process that holds a journal.
type Owner struct {
	PID   int
	Host  string
	Since time.Time
}

// String tells which process it is, and since when.
func (o Owner) String() string {
	return fmt.Sprintf("process %d on %s since %s", o.PID, o.Host, o.Since.Local().Format(time.DateTime))
}

// A held is what a journal says of itself and of who held it last.
type held struct {
	Owner
	journal string
	seq     int64
	open    bool // whoever held it did not close it
}

func readHeld(ctx context.Context, db *sql.DB) (h held, err error) {
	var since int64
	err = db.QueryRowContext(ctx, `SELECT journal, seq, epoch <> '', pid, host, since FROM owner`).
		Scan(&h.journal, &h.seq, &h.open, &h.PID, &h.Host, &since)
	h.Since = fromMillis(since)
	return h, err
}

// takeOwnership makes us the owner, which the lock has made possible, if the
// journal is as it was left here, or if it is to be taken over as it is.
//
// The mark in the lock file is on the disk before anything is counted in the journal,
// and after each write it is brought up to date. So whenever we are killed, or the power
// fails, the journal is as far as the mark says or farther; if it is not as far, it has
// lost something.
func (s *Store) takeOwnership(ctx context.Context, fresh, takeover bool) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	h, err := readHeld(ctx, s.w)
	if errors.Is(err, sql.ErrNoRows) {
		h, err = held{journal: rand.Text()}, nil
	}
	if err != nil {
		return wrap("take ownership", err)
	}
	s.id = h.journal
	left, err := s.mark.read()
	if err != nil {
		return diskError(s.path, err)
	}
	if !takeover && !fresh { // a journal that was deleted is missed by nobody: a new one relies on nothing
		if err := s.trust(h, host, left); err != nil {
			return err
		}
	}
	if h.open || takeover {
		if err := s.quickCheck(ctx); err != nil {
			return err
		}
	}
	if h.open && left.id == h.journal {
		s.former = left.at
	}
	own := func() error { return wrap("take ownership", s.own(ctx, h.journal, host, takeover)) }
	note := func() error {
		if err := s.mark.begin(left, h.journal, h.seq, s.now()); err != nil {
			return diskError(s.path, err)
		}
		return nil
	}
	steps := []func() error{note, own}
	if takeover { // the mark and the sums tell of what is wrong until that is seen to
		steps = []func() error{own, func() error { return dropSums(s.path) }, note}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// refuse is the error of a journal that is damaged: that it is not the one that was
// here, if it is not, because then its pages are other ones, too. It only reads: the last
// connection that may write would move the log into what is damaged, and make sums of that.
func (s *Store) refuse(ctx context.Context, damage error) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r, err := openReading(ctx, s.path, 1)
	if err != nil {
		return diskError(s.path, damage)
	}
	defer r.Close()
	h, err1 := readHeld(ctx, r)
	left, err2 := s.mark.read()
	if err1 == nil && err2 == nil {
		if err := s.trust(h, host, left); err != nil {
			return err
		}
	}
	return diskError(s.path, damage)
}

// own writes that we are the owner, and forgets at once what is not to be relied on.
func (s *Store) own(ctx context.Context, journal, host string, takeover bool) error {
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	_, err = tx.ExecContext(ctx, `INSERT INTO owner (id, journal, seq, epoch, pid, host, since) VALUES (1, ?, 0, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, pid = excluded.pid, host = excluded.host, since = excluded.since`,
		journal, s.epoch, os.Getpid(), host, s.now().UnixMilli())
	if err != nil {
		return err
	}
	if takeover {
		if err := distrust(ctx, tx); err != nil {
			return err
		}
	}
	err = tx.Commit()
	s.owns = err == nil
	return err
}

// trust reports why a journal must not be used as it is. After a power cut the time of
// the lock file may be later than its content, so it counts only if the journal was closed.
func (s *Store) trust(h held, host string, left trace) error {
	if h.open && h.Host != host {
		return &InUseError{Path: s.path, Owner: h.Owner, Elsewhere: true}
	}
	if why := h.wrong(left, s.mark); why != "" {
		return &DistrustError{Path: s.path, Reason: why}
	}
	if left.seq > 0 && (!h.open && s.mark.isTouched(left) || left.generation > left.entry+1 || left.entry == 0) {
		return &DistrustError{s.path, "something else changed its files since, so it may be a copy that was put back in place", true}
	}
	return nil
}

// wrong says in which way a journal is not the one that its mark tells of, or not as
// far; "" if it is.
func (h held) wrong(left trace, m *mark) string {
	switch {
	case h.seq == 0 && left.seq == 0: // nothing was ever written to it
	case left.id == "":
		return "it was not made on this machine, was moved without its lock file, or that is damaged"
	case left.id != h.journal && h.seq > 0:
		return "it is another journal than the one that was here"
	case h.seq < left.seq:
		return fmt.Sprintf("it lacks its last %d writes: an older copy was put back, or its write-ahead log got lost", left.seq-h.seq)
	case left.generation < left.entry:
		return "older copies of all its files were put back in their places"
	case m.isCopied(left), left.born == 0 && m.isTouched(left):
		return "it seems to be a copy, with all its files, which would know nothing of what has happened since it was made"
	}
	return ""
}

// distrust forgets what the journal knows about the destinations that may not be
// so any more. Receipts stay: whatever they say, their assets were made.
func distrust(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM ours`); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE runs SET stale = 1 WHERE state NOT IN ('finished', 'superseded')`)
	return err
}

// giveUp notes that nobody owns the journal any more, which only we can know. Where
// the disk does not let us, it is as if we had been killed, which harms nobody. The mark
// is first, because its time counts once the journal is closed; without it the next owner
// looks more closely.
func (s *Store) giveUp() error {
	s.Alive()
	_, err := s.w.Exec(`UPDATE owner SET epoch = '' WHERE epoch = ?`, s.epoch)
	if err == nil {
		err = s.checkpoint(context.Background())
	}
	if err = wrap("close", err); errors.Is(err, ErrFull) || errors.Is(err, ErrUnwritable) {
		return nil
	}
	return err
}

// Alive notes that the owner lives, for who comes after it, also after a power cut. It
// costs three small writes that wait for the disk.
func (s *Store) Alive() { _ = s.mark.alive(s.now()) }

// FormerAlive is when the former owner last gave a sign of life; zero if it closed
// the journal, or if that is not known.
func (s *Store) FormerAlive() time.Time { return s.former }

// inUse tells who owns the journal at path, as far as the journal says.
func inUse(ctx context.Context, path string) error {
	e := &InUseError{Path: path}
	r, err := connect(path, reading, 1)
	if err != nil {
		return e
	}
	defer r.Close()
	if h, err := readHeld(ctx, r); err == nil {
		e.Owner = h.Owner
	}
	return e
}

// A Holder is who has a journal, as far as can be told without taking it.
type Holder struct {
	Owner
	Open  bool // the owner did not close the journal: it is at work, or it was killed
	Alive bool // it is at work on this machine
}

// Holder tells who has the journal, or had it last. Where that one did not close it,
// the lock is tried for an instant.
func (s *Store) Holder(ctx context.Context) (Holder, error) {
	h, err := readHeld(ctx, s.r.DB)
	if errors.Is(err, sql.ErrNoRows) {
		return Holder{}, nil
	} else if err != nil {
		return Holder{}, wrap("read owner", err)
	}
	found := Holder{Owner: h.Owner, Open: h.open}
	if !h.open {
		return found, nil
	}
	lock, err := filelock.Acquire(s.path + lockSuffix)
	if errors.Is(err, filelock.ErrLocked) {
		found.Alive = true
		return found, nil
	} else if err != nil {
		return found, diskError(s.path, err)
	}
	return found, lock.Release()
}
