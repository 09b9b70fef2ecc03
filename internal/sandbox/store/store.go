// Package store is the database of the sandbox: one connection commits changes, others read.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

const (
	File    = "sandbox.db"
	readers = 4
)

// A Store contains all data except the contents. It ignores contexts, because a request that has
// begun a change is completed.
type Store struct {
	dbs      []*sql.DB
	sessions chan *Session   // for reading
	writing  chan *Session   // for the committer; the same channel in memory
	opened   []chan *Session // pool of each connection
	queue    chan *change
	stopped  chan struct{} // closed to end the committer
	ended    chan struct{} // closed when the committer has ended
	Forget   func(contents []string)
}

const pragmas = "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=cache_size(-65536)"

// OpenMemory opens a store with one connection, because an SQLite database in memory belongs to its
// connection.
func OpenMemory() (*Store, error) {
	st := newStore(0)
	if err := st.connect("file::memory:"+pragmas, 1, st.sessions); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st.start()
}

// Open opens or creates the store in a directory.
func Open(dir string) (*Store, error) {
	path, err := filepath.Abs(filepath.Join(dir, File))
	if err != nil {
		return nil, err
	}
	// SQLite would let others read it.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive letter
		path = "/" + path
	}
	dsn := (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String() + pragmas
	st := newStore(readers)
	wal := "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(8000)"
	if err := st.connect(dsn+wal, 1, st.writing); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if st, err = st.start(); err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	if err := st.connect(dsn+"&mode=ro", readers, st.sessions); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// newStore returns a store without connections. Without readers, the connection for writing serves
// both.
func newStore(readers int) *Store {
	st := &Store{
		sessions: make(chan *Session, readers), writing: make(chan *Session, 1),
		queue: make(chan *change), stopped: make(chan struct{}), ended: make(chan struct{}),
		Forget: func([]string) {},
	}
	if readers == 0 {
		st.sessions = st.writing
	}
	go st.commitAll()
	return st
}

// connect opens n connections into pool.
func (st *Store) connect(dsn string, n int, pool chan *Session) error {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	st.dbs = append(st.dbs, db)
	for range n {
		conn, err := db.Conn(context.Background())
		if err != nil {
			return fmt.Errorf("open database: %w", err)
		}
		pool <- &Session{conn: conn, statements: make(map[string]*sql.Stmt)}
		st.opened = append(st.opened, pool)
	}
	return nil
}

// start creates missing tables.
func (st *Store) start() (*Store, error) {
	s := <-st.writing
	err := s.makeSchema()
	st.writing <- s
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// SetClean records whether the next start can skip the search for leftovers, and returns the
// previous value.
func (st *Store) SetClean(clean bool) (was bool, err error) {
	err = st.Write(func(s *Session) error {
		if err := s.Row("SELECT clean FROM sandbox", nil, &was); err != nil {
			return err
		}
		_, err := s.Exec("UPDATE sandbox SET clean = ?", clean)
		return err
	})
	return was, err
}

// Read calls do with a connection for reading.
func (st *Store) Read(do func(*Session) error) error {
	select {
	case s := <-st.sessions:
		defer func() { st.sessions <- s }()
		return do(s)
	case <-st.stopped:
		return ErrClosed
	}
}

// Close ends the committer and the connections, after the current operations.
func (st *Store) Close() error {
	close(st.stopped)
	<-st.ended
	var errs []error
	for _, pool := range st.opened {
		errs = append(errs, (<-pool).Close())
	}
	for _, db := range st.dbs {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// A Session is a connection with its prepared statements, used by one goroutine at a time.
// Transactions are begun by a statement, because statements prepared through sql.Tx end with it.
type Session struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

func (s *Session) Prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := s.statements[query]; ok {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	s.statements[query] = stmt
	return stmt, nil
}

// Exec runs a statement and returns the number of changed rows.
func (s *Session) Exec(query string, args ...any) (int64, error) {
	stmt, err := s.Prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Change runs a statement that must change a row; the error is [ErrNotThere] if it does not.
func (s *Session) Change(query string, args ...any) error {
	n, err := s.Exec(query, args...)
	if err == nil && n == 0 {
		return ErrNotThere
	}
	return err
}

// Row reads one row; the error is sql.ErrNoRows if there is none.
func (s *Session) Row(query string, args []any, into ...any) error {
	stmt, err := s.Prepare(query)
	if err != nil {
		return err
	}
	return stmt.QueryRow(args...).Scan(into...)
}

// Rows calls each for every row.
func (s *Session) Rows(query string, args []any, each func(*sql.Rows) error) (err error) {
	stmt, err := s.Prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.Query(args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exclusively runs do in a transaction.
func (s *Session) exclusively(do func() error) error {
	if _, err := s.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		if _, err = s.Exec("COMMIT"); err == nil {
			return nil
		}
	}
	_, rollback := s.Exec("ROLLBACK")
	return errors.Join(err, rollback)
}

func (s *Session) Close() error {
	var errs []error
	for _, stmt := range s.statements {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// IsForeignKey reports whether a change failed because a referenced row does not exist.
func IsForeignKey(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlitelib.SQLITE_CONSTRAINT_FOREIGNKEY
}

func Millis(t time.Time) int64         { return t.UnixMilli() }
func FromMillis(ms int64) time.Time    { return time.UnixMilli(ms).UTC() }
func Timestamp(t time.Time) string     { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
func OrNull(s string) sql.Null[string] { return sql.Null[string]{V: s, Valid: s != ""} }

// ErrNotThere reports that a row does not exist.
var ErrNotThere = errors.New("not there")

// NotThere converts the driver's error for a missing row to [ErrNotThere].
func NotThere(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotThere
	}
	return err
}

// IgnoreNotThere returns nil for a missing row.
func IgnoreNotThere(err error) error {
	if errors.Is(err, ErrNotThere) {
		return nil
	}
	return err
}
