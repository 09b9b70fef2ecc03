package state

import (
	"context"
	"database/sql"

	"assetferry/state/pagesums"
)

// checkpointFrames is the number of pages in the write-ahead log at which they are moved into the
// database, if no reader blocks that: 16 MB.
const checkpointFrames = 4000

// LogRoom is the maximum size of the write-ahead log in bytes: one checkpoint, the pause before the
// next one while readers use the log, and the transaction that makes it due. It is exceeded only if
// one reader stays for seconds.
const LogRoom = 20_000_000

// checkpointIfLarge moves the write-ahead log into the database when it is large. A failure is left
// to the next write: this one is done. The log restarts if no reader uses it. Otherwise the next
// attempt waits up to five seconds for the current readers: overlapping readers would never release
// the log. A reader that stays longer makes attempts rarer, because each reads the whole log.
func (s *Store) checkpointIfLarge(ctx context.Context, c *sql.Conn) {
	var busy, frames, moved int
	if c.QueryRowContext(ctx, `PRAGMA wal_checkpoint(NOOP)`).Scan(&busy, &frames, &moved) != nil {
		return
	}
	if frames < s.frames { // it was begun again
		s.due = 0
	}
	s.frames = frames
	if frames < max(checkpointFrames, s.due) {
		return
	}
	mode, pause := "PASSIVE", checkpointFrames/16
	if s.due > 0 {
		mode, pause = "RESTART", frames/2
	}
	s.due = frames + pause
	_ = s.moveLog(ctx, c, mode)
}

// checkpoint moves the whole write-ahead log into the database. The log is empty afterwards unless
// a reader uses it.
func (s *Store) checkpoint(ctx context.Context) error {
	c, err := s.w.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return s.moveLog(ctx, c, "TRUNCATE")
}

// moveLog moves the write-ahead log into the database, after updating the sums of its pages.
func (s *Store) moveLog(ctx context.Context, c *sql.Conn, mode string) error {
	if err := pagesums.Record(s.path); err != nil {
		return err
	}
	_, err := c.ExecContext(ctx, `PRAGMA wal_checkpoint(`+mode+`)`)
	return err
}
