//go:build counts

package counts

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"os"
	"runtime"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver that is wrapped
)

// Driver is the name of the SQL driver, which counts.
const Driver = "sqlite that counts"

var statements, prepared, transactions atomic.Int64

func init() {
	db, err := sql.Open("sqlite", "") // does not open a database yet
	if err != nil {
		panic(err) // it is imported above
	}
	sql.Register(Driver, counting{db.Driver()})
	_ = db.Close() // there is no connection
}

// Write writes the counters if a file is configured.
func Write() error {
	name := os.Getenv(Variable)
	if name == "" {
		return nil
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := json.Marshal(Counts{statements.Load(), prepared.Load(), transactions.Load(), int64(m.Mallocs)})
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}

// counting is the driver of SQLite, and counts.
type counting struct{ driver.Driver }

func (d counting) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return conn{c.(sqliteConn)}, nil
}

// sqliteConn is the set of interfaces of a SQLite connection that database/sql uses.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type conn struct{ sqliteConn }

func (c conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	transactions.Add(1)
	return c.sqliteConn.BeginTx(ctx, o)
}

func (c conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	prepared.Add(1)
	statements.Add(1)
	return c.sqliteConn.ExecContext(ctx, query, args)
}

func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	prepared.Add(1)
	statements.Add(1)
	return c.sqliteConn.QueryContext(ctx, query, args)
}

func (c conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	prepared.Add(1)
	s, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt{s.(sqliteStmt)}, nil
}

// sqliteStmt is the set of interfaces of a SQLite statement that database/sql uses.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type stmt struct{ sqliteStmt }

func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	statements.Add(1)
	return s.sqliteStmt.ExecContext(ctx, args)
}

func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	statements.Add(1)
	return s.sqliteStmt.QueryContext(ctx, args)
}
