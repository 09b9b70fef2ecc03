// Package rows reads tables that people and programs write: CSV with commas, semicolons or
// tabs, and JSON Lines. It knows where every row begins and says what is wrong by line and
// column; what a row means is up to who reads it.
//
// The rows stay in the file. Who wants to find one again remembers the offset at which it
// begins, so that a table of any size takes as little memory as that.
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

// MaxRow is how many bytes a row may have. One that is longer is rather a quote that
// somebody forgot to close, and would be read to the end of the file.
const MaxRow = 1 << 20

// A Use is what a table is for, in the words of errors.
type Use struct {
	Kind    string // such as "metadata table"
	Topic   string // of assetferry help, that tells the form
	Example string // of a row in JSON

	// Lines takes a file that ends in .json for JSON Lines, too, which is what this program
	// writes into one for this use.
	Lines bool

	// Columns names the columns of a CSV table that has no header, and IsRow reports whether
	// a first line is none. Where they are missing, every table has a header.
	Columns []string
	IsRow   func(cells []string) bool

	// AnyName takes a file with an ending that says nothing for CSV.
	AnyName bool
}

// A File is a table. It may be read by several goroutines.
type File struct {
	name  string
	use   Use
	from  io.ReaderAt
	size  int64
	begin int64 // of the first row, or of the header
	first reader
	at    func(io.Reader) reader // below the header
	names []string
	file  io.Closer
}

// A reader of rows begins somewhere in a table.
type reader interface {
	// next gives the next row, io.EOF after the last. A *Mistake is of one row, and
	// the next one may be right; any other error is the end.
	next() (Row, error)
	// offset is how many bytes come before the next row.
	offset() int64
}

// Open opens a table. One that cannot be read at all is a *Mistakes. The file stays open:
// another that is put in its place does no harm.
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

// New reads a table from somewhere else than a file of its own. Its name tells the form.
func New(name string, u Use, from io.ReaderAt, size int64) (*File, error) {
	open, err := formatOf(name, u)
	if err != nil {
		return nil, err
	}
	return newFile(name, u, from, size, open)
}

// A format begins to read a table.
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

// A FormatError says that the name of a table does not tell its form.
type FormatError struct {
	File string
	Use  Use
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s %s is not a .csv, .tsv, .jsonl or .ndjson file", e.Use.Kind, e.File)
}

// Hint is what to do next.
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

// skipMark begins after the mark of UTF-8 that some programs write.
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

// Columns are the names in the header, in normal form and in order. There are none in JSON
// Lines, where each row has names of its own.
func (f *File) Columns() []string { return f.names }

// Each reads all rows in order and gives each with the offset at which it can be read
// again. Mistakes go into wrong, those of the form and those that take gives back; any
// other error of take is the end. It may be called once.
func (f *File) Each(wrong *Mistakes, take func(at int64, r Row) error) error {
	for {
		at := f.begin + f.first.offset()
		r, err := f.first.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong): // what follows cannot be understood
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

// At reads the row at an offset that Each gave. Lines are counted from there.
func (f *File) At(at int64) (Row, error) {
	r, err := f.at(f.section(at)).next()
	if _, wrong := errors.AsType[*Mistake](err); wrong || errors.Is(err, io.EOF) || errors.Is(err, errLong) {
		return Row{}, f.Changed()
	}
	return r, f.fail(err)
}

// Place is At with the lines of the whole table, which takes long.
func (f *File) Place(at int64) (Row, error) {
	r, err := f.At(at)
	if err != nil {
		return Row{}, err
	}
	before, err := f.line(at)
	r.before = before - 1
	return r, f.fail(err)
}

// line gives the line that an offset is in.
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

// Changed is the error where a row is not what it was before.
func (f *File) Changed() error { return &ChangedError{f.name, f.use} }

// A ChangedError says that somebody wrote into a table while it was in use, instead of
// putting another file in its place.
type ChangedError struct {
	File string
	Use  Use
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s %s changed while it was in use", e.Use.Kind, e.File)
}

// Hint is what to do next.
func (e *ChangedError) Hint() string {
	return "run the same command again when the table is complete; to replace a table in use, write another file and rename it"
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// errLong says that a row is longer than MaxRow.
var errLong = errors.New("the row that begins here is longer than 1 MiB; check for a missing quote")

// A rowLimit reads no more than a row may have.
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
