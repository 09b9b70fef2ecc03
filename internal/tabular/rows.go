// Package tabular reads tables that people and programs write: CSV with commas, semicolons or tabs,
// and JSON Lines. It reports errors by line and column. The caller interprets the rows.
//
// The rows stay in the file. A caller that needs a row again remembers its offset, so a table of
// any size takes little memory.
package tabular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxRow is the maximum size of a row in bytes. A longer one usually has a missing quote, and would
// be read up to the end of the file.
const MaxRow = 1 << 20

// A Use is the purpose of a table, in the words of error messages.
type Use struct {
	Kind    string // such as "metadata table"
	Topic   string // the topic of assetferry help that describes the format
	Example string // a row in JSON

	// Lines reads a file that ends in .json as JSON Lines, too, because this program writes them
	// under that name for this use.
	Lines bool

	// Columns names the columns of a CSV table without a header. IsRow reports whether the first
	// line is a row. If they are nil, every table has a header.
	Columns []string
	IsRow   func(cells []string) bool

	// AnyName reads a file whose extension is unknown as CSV.
	AnyName bool
}

// A File is an open table. Several goroutines may read it.
type File struct {
	name  string
	use   Use
	from  io.ReaderAt
	size  int64
	begin int64 // offset of the first row, or of the header
	first reader
	at    func(io.Reader) reader // returns a reader of rows below the header
	names []string
	file  io.Closer
}

// A reader reads the rows from an offset on.
type reader interface {
	// next returns the next row, and io.EOF after the last one. A *Mistake concerns one row, so the
	// caller may continue; after any other error it must not.
	next() (Row, error)
	// offset returns the number of bytes before the next row.
	offset() int64
}

// Open opens a table. If the whole table is unreadable, the error is a *Mistakes. The file stays
// open, so a file that replaces it has no effect.
func Open(name string, u Use) (*File, error) {
	open, err := formatOf(name, u)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", u.Kind, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	var f *File
	if err == nil {
		f, err = newFile(name, u, file, info.Size(), open)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f.file = file
	return f, nil
}

// New reads a table from another reader than a file. The extension of the name selects the format.
func New(name string, u Use, from io.ReaderAt, size int64) (*File, error) {
	open, err := formatOf(name, u)
	if err != nil {
		return nil, err
	}
	return newFile(name, u, from, size, open)
}

// A format starts reading a table.
type format func(f *File, from io.Reader) error

func formatOf(name string, u Use) (format, error) {
	extension := strings.ToLower(filepath.Ext(name))
	switch {
	case extension == ".csv", extension == ".tsv":
		return (*File).beginCSV, nil
	case extension == ".jsonl", extension == ".ndjson", extension == ".json" && u.Lines:
		return (*File).beginJSON, nil
	case u.AnyName:
		return (*File).beginCSV, nil
	}
	return nil, &FormatError{name, u}
}

// A FormatError means that the extension of a table selects no format.
type FormatError struct {
	File string
	Use  Use
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s %s is not a .csv, .tsv, .jsonl or .ndjson file", e.Use.Kind, e.File)
}

// Hint returns the next step for the user.
func (e *FormatError) Hint() string {
	return fmt.Sprintf("use the extension of its format (see assetferry help %s)", e.Use.Topic)
}

func newFile(name string, u Use, from io.ReaderAt, size int64, open format) (*File, error) {
	f := &File{name: name, use: u, from: from, size: size}
	err := f.skipMark()
	if err == nil {
		err = open(f, f.section(f.begin))
	}
	if errors.Is(err, errLong) {
		err = &Mistake{1, 1, errLong.Error()}
	}
	wrong := f.Mistakes()
	if err := wrong.Note(err); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", u.Kind, name, err)
	}
	if err := wrong.Verdict(); err != nil {
		return nil, err
	}
	return f, nil
}

// skipMark skips a byte order mark, which some programs write.
func (f *File) skipMark() error {
	mark := make([]byte, 3)
	n, err := f.from.ReadAt(mark[:min(3, f.size)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch mark = mark[:n]; {
	case bytes.Equal(mark, []byte("\xef\xbb\xbf")):
		f.begin = 3
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return &Mistake{1, 1, "the table is in UTF-16; save it as UTF-8"}
	}
	return nil
}

func (f *File) section(at int64) io.Reader { return io.NewSectionReader(f.from, at, f.size-at) }

// Columns returns the names in the header, normalized and in order. JSON Lines have none, because
// each row has its own names.
func (f *File) Columns() []string { return f.names }

// Each passes all rows to take in order, each with its offset for At. It adds mistakes of the
// format, and those that take returns, to wrong. Any other error of take ends it. Call it only
// once.
func (f *File) Each(wrong *Mistakes, take func(at int64, r Row) error) error {
	for {
		at := f.begin + f.first.offset()
		r, err := f.first.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong): // the following bytes cannot be parsed
			line, err := f.line(at)
			if err == nil {
				err = wrong.Note(&Mistake{line, 1, errLong.Error()})
			}
			return f.fail(err)
		case err == nil:
			err = take(at, r)
			if err := wrong.Note(err); err != nil {
				return err
			}
		default:
			if err := wrong.Note(err); err != nil {
				return f.fail(err)
			}
		}
	}
}

// At returns the row at an offset from Each. Its lines count from that offset.
func (f *File) At(at int64) (Row, error) {
	r, err := f.at(f.section(at)).next()
	if _, wrong := errors.AsType[*Mistake](err); wrong || errors.Is(err, io.EOF) || errors.Is(err, errLong) {
		return Row{}, f.Changed()
	}
	return r, f.fail(err)
}

// Place is At with line numbers of the whole table. It is slow, because it counts the lines.
func (f *File) Place(at int64) (Row, error) {
	r, err := f.At(at)
	if err != nil {
		return Row{}, err
	}
	before, err := f.line(at)
	r.before = before - 1
	return r, f.fail(err)
}

// line returns the number of the line that contains an offset.
func (f *File) line(at int64) (int, error) {
	n, before := 1, io.NewSectionReader(f.from, 0, at)
	for piece := make([]byte, 64<<10); ; {
		read, err := before.Read(piece)
		n += bytes.Count(piece[:read], []byte("\n"))
		if errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return 0, err
		}
	}
}

func (f *File) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s %s: %w", f.use.Kind, f.name, err)
}

// Changed returns the error for a row that differs from what Each read.
func (f *File) Changed() error { return &ChangedError{f.name, f.use} }

// A ChangedError means that another program wrote into a table while it was in use, instead of
// replacing the file.
type ChangedError struct {
	File string
	Use  Use
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s %s changed while it was in use", e.Use.Kind, e.File)
}

// Hint returns the next step for the user.
func (e *ChangedError) Hint() string {
	return "run the same command again when the table is complete; to replace a table in use, write another file and rename it"
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// errLong means that a row is longer than MaxRow.
var errLong = errors.New("the row that begins here is longer than 1 MiB; check for a missing quote")

// A rowLimit is a reader that fails with errLong after MaxRow bytes of a row.
type rowLimit struct {
	from io.Reader
	left int
}

func (l *rowLimit) begin() { l.left = MaxRow }

func (l *rowLimit) Read(p []byte) (n int, err error) {
	if l.left == 0 {
		return 0, errLong
	}
	n, err = l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
