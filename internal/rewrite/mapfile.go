package rewrite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"assetferry/internal/hint"
	"assetferry/internal/tabular"
	"assetferry/internal/ui"
)

// A mapFile is a file with old and new URLs.
type mapFile struct{ *Map }

// Others implements Redirects.
func (mapFile) Others() []string { return nil }

// mapUse describes a map for error messages.
func mapUse() tabular.Use {
	return tabular.Use{
		Kind: "map", Topic: "rewrite", Example: `{"old": "https://…", "new": "https://…"}`, Lines: true,
		AnyName: true, Columns: []string{"old", "new"}, IsRow: isPairOfURLs,
	}
}

// isPairOfURLs reports whether the first line of a map is a row and not a header.
func isPairOfURLs(cells []string) bool {
	return len(cells) > 1 && Canonical(tabular.UnescapeFormula(cells[0])) != "" && Canonical(tabular.UnescapeFormula(cells[1])) != ""
}

// errMapStop ends reading a map early.
var errMapStop = errors.New("stop")

// OpenMapFile reads a map from urls or from a spreadsheet.
func OpenMapFile(name string) (_ Redirects, err error) {
	in, size, err := openTable(name)
	if err != nil {
		return nil, hint.Usage(fmt.Errorf("open map: %w", err), "write a map:\n  assetferry urls --output urls.tsv")
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	t := &mapTable{name: name, in: in, size: size}
	m, err := NewMap(t.rows)
	if e, ok := errors.AsType[*RowError](err); ok {
		return nil, hint.Usage(fmt.Errorf("%s:%d: %w", ui.Sanitize(name), t.lineOf(e.Row), err), "correct or remove that line, or write the map again:\n  assetferry urls --old-prefix PREFIX")
	}
	if wrong, ok := errors.AsType[*tabular.Mistakes](err); ok {
		return nil, hint.Usage(wrong, "correct the map (see assetferry help rewrite), or write it again:\n  assetferry urls")
	}
	if err != nil {
		return nil, err
	}
	return mapFile{m}, nil
}

// openTable opens a file for random access. It copies a pipe to a temporary file.
func openTable(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		return f, info.Size(), nil
	case info.IsDir():
		err = fmt.Errorf("%s is a folder", ui.Sanitize(name))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	copied, err := os.CreateTemp("", "assetferry-map-*")
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	size, err := io.Copy(copied, f)
	err = errors.Join(err, f.Close())
	if rerr := os.Remove(copied.Name()); rerr != nil && !errors.Is(rerr, fs.ErrPermission) { // some systems need it closed first
		err = errors.Join(err, rerr)
	}
	if err != nil {
		return nil, 0, errors.Join(err, copied.Close())
	}
	return copied, size, nil
}

// A mapTable reads a map.
type mapTable struct {
	name string
	in   io.ReaderAt
	size int64
}

// rows yields the rows; it ends after an error.
func (t *mapTable) rows(yield func(Row, error) bool) {
	taken := 0
	err := t.each(func(_ int, r Row) error {
		if taken++; !yield(r, nil) {
			return errMapStop
		}
		return nil
	})
	if err == nil && taken == 0 {
		err = hint.Usage(fmt.Errorf("map %s has no rows", ui.Sanitize(t.name)),
			"show the number of assets, then write a map:\n  assetferry status\n  assetferry urls --output urls.tsv")
	}
	if err != nil && !errors.Is(err, errMapStop) {
		yield(Row{}, err)
	}
}

// each passes all rows with their line numbers to take.
func (t *mapTable) each(take func(line int, r Row) error) error {
	if blank, err := t.isBlank(); blank || err != nil {
		return err
	}
	file, err := tabular.New(t.name, mapUse(), t.in, t.size)
	if err != nil {
		return err
	}
	wrong := file.Mistakes()
	read, err := mapReader(file)
	if err := wrong.Note(err); err != nil {
		return err
	}
	if err := wrong.Verdict(); err != nil {
		return err
	}
	err = file.Each(wrong, func(_ int64, from tabular.Row) error {
		r, ok, err := read(from)
		if err != nil || !ok {
			return err
		}
		line, _ := from.Where(0)
		return take(line, r)
	})
	return cmp.Or(err, wrong.Verdict())
}

// isBlank reports whether the file contains only a byte order mark and white space.
func (t *mapTable) isBlank() (bool, error) {
	head := make([]byte, min(t.size, 4096))
	n, err := t.in.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read map %s: %w", t.name, err)
	}
	return int64(n) == t.size && strings.TrimSpace(strings.TrimPrefix(string(head[:n]), "\ufeff")) == "", nil
}

// lineOf returns the line of a row, counted from 1.
func (t *mapTable) lineOf(row int) (found int) {
	_ = t.each(func(line int, _ Row) error { // the first reading succeeded
		if found, row = line, row-1; row == 0 {
			return errMapStop
		}
		return nil
	})
	return found
}

// mapReader returns a function that parses a line; ok is false for a line without a row.
func mapReader(file *tabular.File) (read func(tabular.Row) (r Row, ok bool, err error), err error) {
	names := file.Columns()
	if names == nil {
		return mapObject, nil
	}
	column := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	old, new := column("old"), column("new")
	if old < 0 || new < 0 {
		return nil, file.HeaderMistake(0, `the first line must have an old and a new URL, or the columns "old" and "new"`)
	}
	return func(from tabular.Row) (Row, bool, error) {
		r := Row{Old: strings.Clone(tabular.UnescapeFormula(from.Cells[old])), New: strings.Clone(tabular.UnescapeFormula(from.Cells[new]))}
		return r, true, nil
	}, nil
}

// mapObject parses a line of urls --format json or of urls --json. The latter has lines of other
// types, too.
func mapObject(from tabular.Row) (r Row, ok bool, err error) {
	var fields map[string]json.RawMessage
	if err := from.Decode(&fields); err != nil {
		return r, false, err
	}
	var kind string
	for name, into := range map[string]*string{"old": &r.Old, "new": &r.New, "type": &kind} {
		value, there := fields[name]
		if there && json.Unmarshal(value, into) != nil {
			return r, false, from.Mistake(0, fmt.Sprintf("%q must be a string", name))
		}
	}
	switch {
	case kind != "" && kind != "redirect":
		return r, false, nil
	case r.Old == "" || r.New == "":
		return r, false, from.Mistake(0, `"old" or "new" is missing`)
	}
	return r, true, nil
}
