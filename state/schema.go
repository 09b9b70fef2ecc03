package state

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed" // schema.sql
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"assetferry/state/disk"
	"assetferry/state/ownership"
	"assetferry/state/pagesums"
)

// applicationID marks a SQLite file as one of ours ("ASTF").
const applicationID = 0x41535446

// schemaVersion is stored in each state database. A change of the schema raises it.
const schemaVersion = 5

//go:embed schema.sql
var schema string

// errNoSchema says that the file does not exist or is empty.
var errNoSchema = fmt.Errorf("no state database exists: %w", fs.ErrNotExist)

// probe refuses a file that is no state database, or one of another version, before any connection
// could write to it. A missing file is errNoSchema.
func probe(ctx context.Context, path string) error {
	err := inspect(ctx, path)
	if errors.Is(err, ErrForeign) || errors.Is(err, ErrNewer) {
		if pagesums.OnlyFirstDiffers(path) {
			return disk.OpenError(path, pagesums.Compare(path))
		}
	}
	return err
}

func inspect(ctx context.Context, path string) error {
	if err := checkHeader(path); err != nil {
		return err
	}
	db, err := openReading(ctx, path, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	var id, version, tables int
	err = db.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return disk.OpenError(path, err)
	case id == 0 && tables == 0:
		return errNoSchema // we died right after making it
	case id != applicationID, version < schemaVersion:
		return fmt.Errorf("%s: %w", path, ErrForeign)
	case version > schemaVersion:
		return fmt.Errorf("%s: %w (its schema is %d, this version knows %d)", path, ErrNewer, version, schemaVersion)
	}
	return nil
}

// checkHeader refuses a file that is no SQLite file. A missing file, or an empty one without traces
// of writes, is errNoSchema.
func checkHeader(path string) error {
	info, err := os.Stat(path) // before opening, which would wait for a named pipe
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNoSchema
	case err != nil:
		return disk.OpenError(path, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a file: %w", path, ErrForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return disk.OpenError(path, err)
	}
	defer f.Close()
	head := make([]byte, headerLength)
	switch n, err := io.ReadFull(f, head); {
	case errors.Is(err, io.EOF):
		return checkEmpty(path)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return disk.OpenError(path, err)
	case !bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return fmt.Errorf("%s: %w", path, ErrForeign)
	case n < headerLength:
		return disk.OpenError(path, &disk.Error{Kind: disk.ErrDamaged, Err: errors.New("it is truncated")})
	}
	if hasLog(path) {
		return nil // the log may hold the missing part
	}
	// Stat again: another process may have moved its log into the file since, which makes it
	// longer.
	if info, err = f.Stat(); err != nil {
		return disk.OpenError(path, err)
	}
	return checkLength(path, head, info.Size())
}

// checkEmpty refuses an empty file if the files next to it show writes. The header is on the disk
// before any of these, and a new state database removes them first.
func checkEmpty(path string) error {
	emptied := disk.OpenError(path, &disk.Error{Kind: disk.ErrEmptied, Err: errors.New("the files next to it show that it was written")})
	_, err := os.Stat(path + disk.SumsSuffix)
	if hasLog(path) || err == nil {
		return emptied
	}
	lock, err := os.Open(path + disk.LockSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoSchema
	} else if err != nil {
		return disk.OpenError(path, err)
	}
	defer lock.Close()
	left, err := ownership.NewMark(path, lock).Read()
	if err != nil {
		return disk.OpenError(path, err)
	}
	if left.Seq > 0 {
		return emptied
	}
	return errNoSchema
}

// headerLength is that of the header of a SQLite file.
const headerLength = 100

// checkLength refuses a truncated file, which SQLite would notice only when it reads the missing
// part. By the file format at sqlite.org, the header has the page size at 16, and the number of
// pages at 28 if the counters at 24 and 92 are equal.
func checkLength(path string, head []byte, size int64) error {
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	counted := bytes.Equal(head[24:28], head[92:96])
	if page == 0 || size%page != 0 || counted && size < pages*page {
		return disk.OpenError(path, &disk.Error{Kind: disk.ErrDamaged, Err: errors.New("it is truncated")})
	}
	return nil
}

// makeSchema creates the schema and its version in an empty file, in one transaction.
func makeSchema(ctx context.Context, db *sql.DB, path string) error {
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return disk.OpenError(path, err)
	}
	if version == schemaVersion { // see inspect, which refuses all others
		return nil
	}
	script := fmt.Sprintf("%s;\nPRAGMA user_version = %d;\nPRAGMA application_id = %d;", schema, schemaVersion, applicationID)
	if err := runScript(ctx, db, script); err != nil {
		return disk.OpenError(path, fmt.Errorf("create schema: %w", err))
	}
	return nil
}

func runScript(ctx context.Context, db *sql.DB, script string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, script); err != nil {
		return err
	}
	return tx.Commit()
}
