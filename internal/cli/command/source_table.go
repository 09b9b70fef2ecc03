package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/tabular"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/table"
)

// IsTable reports whether a source is a table.
func IsTable(source string) bool {
	_, is := config.TableOf(source)
	return is
}

// TableName returns the name of a table in the state database.
func TableName(source string) (string, error) {
	path, _ := config.TableOf(source)
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return table.Scheme + ":" + abs, nil
}

// WholeTable returns the absolute path of a table, which must exist.
func WholeTable(source string) (string, error) {
	path, _ := config.TableOf(source)
	if _, err := os.Stat(path); err != nil {
		return "", noTable(err)
	}
	return TableName(source)
}

const tableHint = "write table:export.csv (see assetferry help tables)"

// openTable opens a table as a source. It reports mistakes in the table before any question.
func (f *Factory) openTable(ctx context.Context, source string) (sources.Source, string, error) {
	path, _ := config.TableOf(source)
	if path == "" {
		return nil, "", badURL(errors.New("the path of the table is missing"), tableHint)
	}
	c := f.Settings
	o := table.Options{Root: c.TableRoot, Check: c.TableCheck, Hosts: c.SourceHosts, AllowHTTP: c.AllowHTTP, AllowPrivate: c.AllowPrivateNetworks,
		Connections: migrate.Workers(c.Concurrency)}
	var err error
	if o.Columns, err = table.ParseColumns(c.TableColumns); err != nil {
		return nil, "", exit.Usage(fmt.Errorf("--table-columns: %w", err), "example: --table-columns 'url=Download URL'")
	}
	if o.TLS, err = Trusting(c.CAFile); err != nil {
		return nil, "", err
	}
	if o.Headers, err = f.sourceHeaders(ctx); err != nil {
		return nil, "", err
	}
	s, err := table.New(ctx, path, o)
	if err != nil {
		return nil, "", noTable(err)
	}
	f.CloseLater(s.Close)
	return s.WithVersions(), s.Identity(), nil
}

// noTable returns the error of a table that cannot be opened.
func noTable(err error) error {
	_, mistakes := errors.AsType[*tabular.Mistakes](err)
	_, form := errors.AsType[*tabular.FormatError](err)
	_, hosts := errors.AsType[*table.HostsError](err)
	switch {
	case mistakes || form || hosts:
		return exit.Usage(err, exit.HintOf(err))
	case errors.Is(err, fs.ErrNotExist):
		return exit.With(exit.CodeError, err, "check the path of the table")
	}
	return err
}

// AddTableFlags adds the options of tables and of the files that they name.
func AddTableFlags(f *pflag.FlagSet) {
	f.StringArray("table-columns", nil, "`MEANING=COLUMN`: meaning of a table column, such as 'url=Download URL' (repeatable)")
	cmdline.Setting(f, "table-root", "`folder` that paths in a table are relative to (default: the folder of the table)")
	f.Bool("table-check", false, "request size and version of every URL in a table: one more request per object")
	f.StringArray("source-host", nil, "send the headers in ASSETFERRY_SOURCE_HEADERS to this `host` (repeatable)")
}
