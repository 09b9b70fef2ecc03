package aiservice

import (
	"database/sql"
	_ "embed" // schema.sql
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"assetferry/internal/sandbox/datadir"
)

const (
	storeFile     = "ai.db"
	applicationID = 0x41464149 // "AFAI": marks the databases of this stand-in
	schemaVersion = 1
)

//go:embed schema.sql
var schema string

// A store contains all data, including uploads, because files are small and few. It has one
// connection, so transactions are exclusive.
type store struct{ db *sql.DB }

const pragmas = "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"

func openMemory() (*store, error) { return openDatabase("file::memory:" + pragmas) }

// prepareDir marks the directory as that of a sandbox, so that it is not treated as part of a
// source.
func prepareDir(dir string) error {
	if _, err := datadir.Secure(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text := "This directory belongs to a sandbox of assetferry. Migrations skip it.\n"
	return os.WriteFile(filepath.Join(dir, datadir.MarkerFile), []byte(text), 0o600)
}

// openStore opens or creates the store in a directory.
func openStore(dir string) (*store, error) {
	path, err := filepath.Abs(filepath.Join(dir, storeFile))
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would let others read it
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
	st, err := openDatabase(dsn + "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", storeFile, err)
	}
	return st, nil
}

func openDatabase(dsn string) (*store, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1) // a database in memory belongs to its connection
	st := &store{db}
	if err := st.do(makeSchema); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

// makeSchema creates the tables in an empty database, and refuses other databases.
func makeSchema(tx *sql.Tx) error {
	var application, version, tables int
	err := errors.Join(
		tx.QueryRow("PRAGMA application_id").Scan(&application),
		tx.QueryRow("PRAGMA user_version").Scan(&version),
		tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables))
	switch {
	case err != nil:
		return err
	case application == applicationID && version == schemaVersion:
		return nil
	case application == applicationID:
		return fmt.Errorf("another version of the sandbox wrote the data (schema %d; this version supports %d)", version, schemaVersion)
	case application != 0 || tables != 0:
		return errors.New("the file is not a database of the AI sandbox")
	}
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion)
	_, err = tx.Exec(schema + mark)
	return err
}

// do runs a function in a transaction, which is durable once do has returned without an error. It
// ignores contexts, because a request that has begun is completed.
func (st *store) do(do func(*sql.Tx) error) error {
	tx, err := st.db.Begin()
	if err != nil {
		return fmt.Errorf("open transaction: %w", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (st *store) close() error { return st.db.Close() }

// changed reports whether a statement changed a row.
func changed(tx *sql.Tx, query string, args ...any) (bool, error) {
	result, err := tx.Exec(query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// rows calls each for every row.
func rows(tx *sql.Tx, query string, args []any, each func(scan) error) (err error) {
	found, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		if err := each(found.Scan); err != nil {
			return err
		}
	}
	return found.Err()
}

// A scan reads the columns of a row.
type scan func(into ...any) error

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
func timestamp(ms int64) string     { return fromMillis(ms).Format("2006-01-02T15:04:05.000Z") }
