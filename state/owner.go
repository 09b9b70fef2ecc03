package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"time"

	"assetferry/state/pagesums"

	"assetferry/internal/filelock"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// takeOwnership makes us the owner, which the lock has made possible, if the
// state database is as it was left here, or if it will be adopted as it is.
//
// The mark in the lock file is on the disk before anything is counted in the state database,
// and after each write it is brought up to date. So whenever we are killed, or the power
// fails, the state database is as far as the mark says or farther; if it is not as far, it has
// lost something.
func (s *Store) takeOwnership(ctx context.Context, fresh, takeover bool) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	h, err := ownership.Read(ctx, s.w)
	if errors.Is(err, sql.ErrNoRows) {
		h, err = ownership.StoredOwner{StateID: rand.Text()}, nil
	}
	if err != nil {
		return wrap("take ownership", err)
	}
	s.id = h.StateID
	left, err := s.mark.Read()
	if err != nil {
		return disk.OpenError(s.path, err)
	}
	if !takeover && !fresh { // a state database that was deleted is missed by no user: a new one relies on nothing
		if err := h.Trust(s.path, host, left, s.mark); err != nil {
			return err
		}
	}
	if h.Open || takeover {
		if err := s.quickCheck(ctx); err != nil {
			return err
		}
	}
	if h.Open && left.ID == h.StateID {
		s.former = left.At
	}
	own := func() error { return wrap("take ownership", s.own(ctx, h.StateID, host, takeover)) }
	note := func() error {
		if err := s.mark.Begin(left, h.StateID, h.Seq, s.now()); err != nil {
			return disk.OpenError(s.path, err)
		}
		return nil
	}
	steps := []func() error{note, own}
	if takeover { // the mark and the sums report what is wrong until that is seen to
		steps = []func() error{own, func() error { return pagesums.Drop(s.path) }, note}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// refuse is the error of a state database that is damaged: that it is not the one that was
// here, if it is not, because then its pages are other ones, too. It only reads: the last
// connection that may write would move the log into what is damaged, and make sums of that.
func (s *Store) refuse(ctx context.Context, damage error) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r, err := openReading(ctx, s.path, 1)
	if err != nil {
		return disk.OpenError(s.path, damage)
	}
	defer r.Close()
	h, err1 := ownership.Read(ctx, r)
	left, err2 := s.mark.Read()
	if err1 == nil && err2 == nil {
		if err := h.Trust(s.path, host, left, s.mark); err != nil {
			return err
		}
	}
	return disk.OpenError(s.path, damage)
}

// own writes that we are the owner, and forgets at once what must not be relied on.
func (s *Store) own(ctx context.Context, stateID, host string, takeover bool) error {
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	if err := ownership.Enter(ctx, tx, stateID, s.epoch, host, s.now()); err != nil {
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

// distrust forgets what the state database knows about the destinations that may not be
// so any more. Receipts stay: whatever they say, their assets were made.
func distrust(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM ours`); err != nil {
		return err
	}
	const open = ` state NOT IN ('finished', 'superseded')`
	if err := holdFormer(ctx, tx, `run IN (SELECT num FROM runs WHERE`+open+`)`); err != nil { // what was lost may have begun
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE runs SET stale = 1 WHERE`+open)
	return err
}

// failUnconfirmed notes that no process owns the state database any more, which only we can know. Where
// the disk does not let us, it is as if we had been killed, which harms no user. The mark
// is first, because its time counts once the state database is closed; without it the next owner
// looks more closely.
func (s *Store) releaseOwnership() error {
	s.Alive()
	err := ownership.Leave(context.Background(), s.w, s.epoch)
	if err == nil {
		err = s.checkpoint(context.Background())
	}
	if err = wrap("close", err); errors.Is(err, disk.ErrFull) || errors.Is(err, disk.ErrUnwritable) {
		return nil
	}
	return err
}

// Alive notes that the owner lives, for who comes after it, also after a power cut. It
// costs three small writes that wait for the disk.
func (s *Store) Alive() { _ = s.mark.Alive(s.now()) }

// FormerAlive is when the former owner last gave a sign of life; zero if it closed
// the state database, or if that is not known.
func (s *Store) FormerAlive() time.Time { return s.former }

// inUse shows who owns the state database at path, as far as the state database says.
func inUse(ctx context.Context, path string) error {
	e := &ownership.InUseError{Path: path}
	r, err := connect(path, reading, 1)
	if err != nil {
		return e
	}
	defer r.Close()
	if h, err := ownership.Read(ctx, r); err == nil {
		e.Owner = h.Owner
	}
	return e
}

// A Holder is who has a state database, as far as is known without taking it.
type Holder struct {
	ownership.Owner
	Open  bool // the owner did not close the state database: it is at work, or it was killed
	Alive bool // it is at work on this machine
}

// Holder shows who has the state database, or had it last. Where that one did not close it,
// the lock is tried for an instant.
func (s *Store) Holder(ctx context.Context) (Holder, error) {
	h, err := ownership.Read(ctx, s.r.DB)
	if errors.Is(err, sql.ErrNoRows) {
		return Holder{}, nil
	} else if err != nil {
		return Holder{}, wrap("read owner", err)
	}
	found := Holder{Owner: h.Owner, Open: h.Open}
	if !h.Open {
		return found, nil
	}
	lock, err := filelock.Acquire(s.path + disk.LockSuffix)
	if errors.Is(err, filelock.ErrLocked) {
		found.Alive = true
		return found, nil
	} else if err != nil {
		return found, disk.OpenError(s.path, err)
	}
	return found, lock.Release()
}
