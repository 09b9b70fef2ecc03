// Package state is the journal: the durable record of what was listed, planned,
// attempted and confirmed, in one SQLite file. It and the packages below
// it are the only ones that know SQL. Its methods are transitions, each one short transaction; a transition
// that finds the journal in another state than it expects fails and changes
// nothing.
//
// One process owns a journal at a time, others may read it meanwhile. The owner
// writes through a single connection with synchronous=FULL: a lost outcome can
// be found out by asking the destination, a lost intent would be sent twice.
package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assetferry/state/pagesums"

	"assetferry/internal/clock"
	"assetferry/internal/counts"
	"assetferry/internal/filelock"
	"assetferry/internal/mount"
	"assetferry/state/disk"
	"assetferry/state/ownership"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// A Store is an open journal. Its methods may be called from several goroutines.
type Store struct {
	path  string
	epoch string // names this owner in every write
	lock  *filelock.Lock
	w     *sql.DB // the one writing connection; nil if opened for reading
	r     reader
	hook  *hook
	based *baseIndex
	now   func() time.Time

	id     string          // of the journal
	former time.Time       // see FormerAlive
	mark   *ownership.Mark // in the lock file; nil if opened for reading
	owns   bool

	frames, due int // of the write-ahead log: how many there were last, and when it is moved next
}

// Open opens the journal at path, makes it if it is not there, and takes ownership of it.
// It refuses a journal that is not as it was left here, one that another account could
// have written, and one on a network file system. Errors: ErrInUse, ErrForeign, ErrNewer,
// ErrOlder, ErrDistrust, ErrDamaged, ErrUnwritable, ErrFull, ErrNetwork, *private.Error.
func Open(ctx context.Context, path string) (*Store, error) { return usual.open(ctx, path, false) }

// An opener opens journals, given what it knows of file systems.
type opener struct {
	network func(path string) (kind string, err error)
}

// usual asks the file systems of this machine.
var usual = opener{mount.Network}

// Takeover makes the caller's machine the owner of a journal that Open refuses,
// because another machine may own it or because it is not as it was left here.
// From then on the journal's memory of what a destination holds is not relied on:
// all that would be sent is looked for there first, and unfinished runs are planned
// anew. What was in flight stays in doubt. A journal that another process on this
// machine owns is an ErrInUse; it is never taken away.
func Takeover(ctx context.Context, path string) error {
	s, err := usual.open(ctx, path, true)
	if err != nil {
		return err
	}
	return s.Close()
}

// open is the one door to writing: whatever makes or changes a journal comes through here.
func (o opener) open(ctx context.Context, path string, takeover bool) (_ *Store, err error) {
	if path, err = disk.Resolve(path); err != nil {
		return nil, err
	}
	if err := ownership.CheckLocal(path, o.network); err != nil { // before anything is made there
		return nil, err
	}
	if err := disk.MakeDir(filepath.Dir(path)); err != nil {
		return nil, disk.OpenError(path, err)
	}
	if _, err := ownership.Secure(path); err != nil {
		return nil, err
	}
	if err := probe(ctx, path); err != nil && !errors.Is(err, errNoSchema) {
		return nil, err // before anything is made beside somebody else's file
	}
	lock, err := filelock.Acquire(path + disk.LockSuffix)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, inUse(ctx, path)
	} else if err != nil {
		return nil, disk.OpenError(path, err)
	}
	s := &Store{path: path, epoch: rand.Text(), lock: lock, mark: ownership.NewMark(path, lock.File()), based: &baseIndex{}, hook: &hook{}, now: clock.Now}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	fresh, err := s.prepareFile()
	if err != nil {
		return nil, disk.OpenError(path, err)
	}
	if !fresh && !takeover {
		if damage := pagesums.Compare(path); damage != nil {
			return nil, s.refuse(ctx, damage)
		}
	}
	if s.w, err = connect(path, writing, 1); err != nil {
		return nil, err
	}
	if err := makeSchema(ctx, s.w, path); err != nil {
		return nil, err
	}
	if err := s.takeOwnership(ctx, fresh, takeover); err != nil {
		return nil, err
	}
	r, err := connect(path, reading, 4)
	s.r = reader{r, s.hook}
	return s, err
}

// prepareFile makes the file of a journal that is not there yet, and reports whether it
// did. What lies beside it then tells of a journal that is no more.
func (s *Store) prepareFile() (fresh bool, err error) {
	fresh, err = isFresh(s.path)
	if err != nil || !fresh {
		return fresh, err
	}
	return true, errors.Join(s.mark.Forget(), pagesums.Drop(s.path), disk.Remove(s.path+disk.WALSuffix), disk.MakeFile(s.path))
}

// isFresh reports whether there is no journal at a path, or an empty file.
func isFresh(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && info.Size() == 0, err
}

// OpenReadOnly opens the journal at path for reading, also while another process
// owns it. A journal that is not there is an fs.ErrNotExist. One on a network file system
// can be read.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	if _, err := ownership.SecureRead(path); err != nil {
		return nil, err
	}
	if err := probe(ctx, path); errors.Is(err, errNoSchema) {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	} else if err != nil {
		return nil, err
	}
	r, err := openReading(ctx, path, 4)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, based: &baseIndex{}, hook: &hook{}, now: clock.Now}
	s.r = reader{r, s.hook}
	return s, nil
}

// Path is the absolute path of the journal.
func (s *Store) Path() string { return s.path }

// Close gives up ownership and closes the journal.
func (s *Store) Close() error {
	var errs []error
	if s.owns {
		errs = append(errs, s.giveUp())
	}
	if s.w != nil {
		errs = append(errs, pagesums.RecordOrDrop(s.path))
	}
	if s.r.DB != nil {
		errs = append(errs, s.r.Close())
	}
	if s.w != nil {
		errs = append(errs, s.w.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Release())
	}
	return errors.Join(errs...)
}

type mode int

const (
	reading mode = iota
	writing
	drafting  // writing to a file that nobody else knows, with no file beside it in the end
	immutable // reading where not even the files can be made that readers share
)

// connect opens the database with everything that the journal relies on.
// busy_timeout comes first: the other pragmas may have to wait.
//
// The caches are small, in KiB for each connection: who reads, reads in order of keys or
// sorts, which goes to files, and a larger cache only takes memory. Receipts come in order
// of keys, but their assets in none, so the one that writes has more.
func connect(path string, m mode, connections int) (*sql.DB, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "cache_size(-4096)"}}
	switch m {
	case writing:
		q["_pragma"] = append(q["_pragma"], "cache_size(-16384)", "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(0)") // see checkpointIfLarge
		q.Set("_txlock", "immediate")
	case drafting:
		q["_pragma"] = append(q["_pragma"], "journal_mode(DELETE)", "synchronous(FULL)")
	case immutable:
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	default:
		q.Set("mode", "ro")
	}
	db, err := sql.Open(counts.Driver, "file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Write runs f in one transaction, provided that this process still owns the
// journal.
func (s *Store) Write(ctx context.Context, op string, f func(ctx context.Context, tx *sql.Tx) error) error {
	if s.w == nil {
		return fmt.Errorf("journal: %s: %w", op, ErrReadOnly)
	}
	return s.hook.around(op, func() error { return s.commit(ctx, op, f) })
}

func (s *Store) commit(ctx context.Context, op string, f func(ctx context.Context, tx *sql.Tx) error) (err error) {
	defer func() { err = interrupted(ctx, op, err) }()
	if err := s.mark.CatchUp(); err != nil {
		return wrap(op, err)
	}
	c, err := s.w.Conn(ctx) // until the end, so that the mark counts up as the journal does
	if err != nil {
		return wrap(op, err)
	}
	defer c.Close()
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return wrap(op, err)
	}
	defer tx.Rollback() // does nothing after a commit
	seq, err := ownership.Count(ctx, tx, s.epoch)
	if err != nil {
		return wrap(op, err)
	}
	if err := f(ctx, tx); err != nil {
		return wrap(op, err)
	}
	if err := tx.Commit(); err != nil {
		return wrap(op, err)
	}
	s.mark.Written(s.id, seq, s.now())
	s.checkpointIfLarge(ctx, c)
	return nil
}

// One runs a guarded statement that must change exactly one row.
func One(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	return changesOne(tx.ExecContext(ctx, query, args...))
}

func changesOne(res sql.Result, err error) error { return changes(1, res, err) }

// changes gives ErrConflict unless a statement has changed so many rows.
func changes(want int64, res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != want {
		return errors.Join(ErrConflict, err)
	}
	return nil
}

// interrupted puts the reason in the place of an error that is only a sign of a
// cancelled context: the driver knows several, and none names the cause.
func interrupted(ctx context.Context, op string, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("journal: %s: %w", op, context.Cause(ctx))
}

func wrap(op string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "journal: ") {
		return err
	}
	return fmt.Errorf("journal: %s: %w", op, disk.Classify(err))
}
