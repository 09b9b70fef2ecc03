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
	"assetferry/state/actionlog"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// takeOwnership makes this process the owner, if the state database was not changed outside of
// assetferry, or in a takeover. The caller has the lock.
//
// The mark in the lock file is on the disk before anything is counted in the state database, and is
// updated after each write. So after a kill or a power cut the state database is at least as far as
// the mark; otherwise it has lost writes.
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
	if !takeover && !fresh { // a deleted state database may be replaced: a new one relies on nothing
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
	if takeover { // the mark and the page checksums stay until the damage is handled
		steps = []func() error{own, func() error { return pagesums.Drop(s.path) }, note}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the error of a damaged state database. If it is not the one that was here, that is
// the reason, because its pages differ then, too. It only reads: a writing connection would move
// the log into the damaged file.
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

// own writes this process as the owner, and deletes records that must not be relied on.
func (s *Store) own(ctx context.Context, stateID, host string, takeover bool) error {
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // has no effect after a commit
	if s.log, err = ownership.Enter(ctx, tx, stateID, s.epoch, host, s.now()); err != nil {
		return err
	}
	if takeover {
		if err := distrust(ctx, tx); err != nil {
			return err
		}
		if err := s.LogAction(ctx, tx, actionlog.Entry{Kind: actionlog.OwnershipTaken}); err != nil {
			return err
		}
	}
	err = tx.Commit()
	s.owns = err == nil
	return err
}

// distrust deletes the records about destinations that may be out of date. Receipts stay: their
// assets were created.
func distrust(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM ours`); err != nil {
		return err
	}
	const open = ` state NOT IN ('finished', 'superseded')`
	if err := holdFormer(ctx, tx, `run IN (SELECT num FROM runs WHERE`+open+`)`); err != nil { // lost writes may have begun them
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE runs SET stale = 1 WHERE`+open)
	return err
}

// releaseOwnership records that the state database has no owner. If that fails, the next owner
// treats it as after a kill, which is safe. The mark is written first, because its time counts once
// the state database is closed; without it the next owner checks more.
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

// Alive records a sign of life for the next owner, durably. It costs three small synchronous
// writes.
func (s *Store) Alive() { _ = s.mark.Alive(s.now()) }

// FormerAlive returns the last sign of life of the former owner; zero if it closed the state
// database, or if that is unknown.
func (s *Store) FormerAlive() time.Time { return s.former }

// inUse returns an InUseError with the owner of the state database at path, if that is known.
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

// A Holder is the owner of a state database, as far as it can be read without opening the database.
type Holder struct {
	ownership.Owner
	Open  bool // the owner did not close the state database: it runs, or it was killed
	Alive bool // it is at work on this machine
}

// Holder returns the current or last owner. If that one did not close the state database, the lock
// is tried for an instant.
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
