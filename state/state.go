// Package state is the state database: the durable record of what was listed, planned, attempted
// and confirmed, in one SQLite file. Only it and the packages below it contain SQL. Its methods are
// transitions, each one short transaction. A transition that finds another state than it expects
// fails and changes nothing.
//
// One process owns a state database at a time; others may read it meanwhile. The owner writes
// through a single connection with synchronous=FULL: a lost outcome can be recovered from the
// destination, but a lost intent would cause a second upload.
//
// # Why it is one package
//
// The package is large because it has one subject, the life of an object, in one schema. Recording
// one outcome is one transaction over the tables of items, receipts, aliases, failures, former
// keys, metadata, tallies and throughput; planning, undoing and finishing a run join them. Reports
// read the same rows, some of which are complete only with their base: see bases.go. Parts that
// share none of that are separate: the proposals of the AI content service (enrichment), ownership
// of the file (ownership), files (disk), and page checksums (pagesums). Packages with tables of
// their own write through [Store.Write], so that the owner's epoch is checked in one place.
//
// # Files
//
// The file and its owner:
//   - state.go opens and closes it, owner.go takes and releases ownership, schema.go and schema.sql
//     create and recognize it
//   - check.go looks for damage, checkpoint.go moves the write-ahead log, backup.go copies and compacts,
//     prune.go deletes old rows, forget.go all data about an object
//
// Access to SQL:
//   - write.go has the one transaction, query.go all kinds of queries, columns.go lists of columns,
//     hook.go the failures of tests
//
// A run, in its order:
//   - pairs.go and runs.go: sources with their destinations, and runs from begin to end
//   - items.go: a page of the listing, and decisions; transitions.go: all state changes of items
//   - contents.go: objects compared by content before they are uploaded
//   - take.go: the next items to upload; versions.go: older versions of their objects; record.go: outcomes, and everything that they change
//   - sync.go: moves, drift and objects deleted at the source; former.go and undo.go: undo
//
// Uploaded objects:
//   - receipts.go, with bases.go and images.go, which keep them small
//   - aliases.go, former_keys.go and urls.go: shared assets, previous keys and old URLs
//   - metadata.go and sidecars.go: metadata and its files; failures.go: objects that fail in many runs
//   - verifications.go: results of verify
//
// The destination:
//   - structure.go: its categories and folders; inventory.go: its assets; names.go: taken places
//
// Reports and status:
//   - tallies.go and perminute.go: stored sums; reports.go: a run as a whole; compared.go: a run
//     compared with earlier ones; explain.go: one object
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
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"assetferry/internal/clock"
	"assetferry/internal/counts"
	"assetferry/internal/filelock"
	"assetferry/internal/mount"
	"assetferry/state/actionlog"
	"assetferry/state/disk"
	"assetferry/state/ownership"
	"assetferry/state/pagesums"
)

// Errors that callers branch on.
var (
	ErrReadOnly = errors.New("opened for reading")
	ErrConflict = errors.New("the state database is not in the expected state")
	ErrForeign  = errors.New("not a state database of assetferry")
	ErrNewer    = errors.New("created by a newer version of assetferry")
	ErrNotFound = errors.New("not in the state database")
	ErrPruned   = errors.New("its items were pruned")
)

// A Store is an open state database. Its methods may be called from several goroutines.
type Store struct {
	path  string
	epoch string // names this owner in every write
	lock  *filelock.Lock
	w     *sql.DB // the one writing connection; nil if opened for reading
	r     reader
	hook  *hook
	based *baseIndex
	now   func() time.Time

	id     string          // of the state database
	log    actionlog.Head  // as of the current write
	added  bool            // whether this process added an entry to the log
	former time.Time       // see FormerAlive
	mark   *ownership.Mark // in the lock file; nil if opened for reading
	owns   bool

	frames, due int // frames is the last size of the write-ahead log; due is the size of the next checkpoint
}

// Open opens the state database at path, creates it if it does not exist, and takes ownership of
// it. It refuses a state database that was changed outside of assetferry, that another account
// could have written, or that is on a network file system. Errors: ErrInUse, ErrForeign, ErrNewer,
// ErrDistrust, ErrDamaged, ErrUnwritable, ErrFull, ErrNetwork, *private.Error.
func Open(ctx context.Context, path string) (*Store, error) {
	return defaultOpener.open(ctx, path, false)
}

// An opener opens state databases, given a function that recognizes network file systems.
type opener struct {
	network func(path string) (kind string, err error)
}

// defaultOpener asks the mounts of this machine for the type of a file system.
var defaultOpener = opener{mount.Network}

// Takeover makes this machine the owner of a state database that Open refuses, because another
// machine may own it or because it was changed outside of assetferry. Afterwards its records about
// destinations are not relied on: the destination is checked before each upload, and unfinished
// runs are planned again. Items in flight stay unconfirmed. It fails with ErrInUse if another
// process on this machine owns the state database.
func Takeover(ctx context.Context, path string) error {
	s, err := defaultOpener.open(ctx, path, true)
	if err != nil {
		return err
	}
	return s.Close()
}

// open is the only way to write: everything that creates or changes a state database uses it.
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
		return nil, err // before files are created next to the file of another user
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
	s.r = newReader(r, s.hook)
	return s, err
}

// prepareFile creates the file of a state database that does not exist, and reports whether it did.
// Files next to it then belong to a deleted state database.
func (s *Store) prepareFile() (fresh bool, err error) {
	fresh, err = isFresh(s.path)
	if err != nil || !fresh {
		return fresh, err
	}
	return true, errors.Join(s.mark.Forget(), pagesums.Drop(s.path), disk.Remove(s.path+disk.WALSuffix), disk.MakeFile(s.path))
}

// isFresh reports whether there is no state database at a path, or an empty file.
func isFresh(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && info.Size() == 0, err
}

// OpenReadOnly opens the state database at path for reading, also while another process owns it, or
// on a network file system. A missing one is an fs.ErrNotExist.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	if _, err := ownership.SecureRead(path); err != nil {
		return nil, err
	}
	if err := probe(ctx, path); errors.Is(err, errNoSchema) {
		return nil, fmt.Errorf("open state database %s: %w", path, err)
	} else if err != nil {
		return nil, err
	}
	r, err := openReading(ctx, path, 4)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, based: &baseIndex{}, hook: &hook{}, now: clock.Now}
	s.r = newReader(r, s.hook)
	return s, nil
}

// openReading opens a state database for reading. Readers share a file next to it. If that cannot
// be created, a state database without a log can be read all the same.
func openReading(ctx context.Context, path string, connections int) (*sql.DB, error) {
	db, err := connect(path, reading, connections)
	if err != nil {
		return nil, err
	}
	var version int
	err = db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version)
	if disk.KindOf(err) != disk.ErrUnwritable || hasLog(path) {
		return db, nil // other errors show at the first read
	}
	if err := db.Close(); err != nil {
		return nil, disk.OpenError(path, err)
	}
	return connect(path, immutable, connections)
}

// hasLog reports whether there is a non-empty write-ahead log next to a state database.
func hasLog(path string) bool {
	info, err := os.Stat(path + disk.WALSuffix)
	return err == nil && info.Size() > 0
}

// Path returns the absolute path of the state database.
func (s *Store) Path() string { return s.path }

// Close gives up ownership and closes the state database.
func (s *Store) Close() error {
	var errs []error
	if s.owns {
		errs = append(errs, s.releaseOwnership())
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
	drafting  // writing to a new file that no other process uses, without files next to it
	immutable // reading where the files that readers share cannot be created
)

// connect opens the database with the required settings. busy_timeout comes first: the other
// pragmas may have to wait.
//
// The caches are small, in KiB for each connection: readers read in key order or sort with files,
// so larger caches only take memory. Receipts are written in key order, but their assets in no
// order, so the writer has more.
func connect(path string, m mode, connections int) (*sql.DB, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "cache_size(-2048)"}}
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
		return nil, fmt.Errorf("open state database %s: %w", path, err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}
