package metadata

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxRow is how many bytes a row may have. One that is longer is rather a quote that
// somebody forgot to close, and would be read to the end of the file.
const maxRow = 1 << 20

// A row of a table says what describes one object.
type row struct {
	key          string
	metadata     Metadata
	line, column int // of the key, from where its reader began
}

// A reader of rows begins somewhere in a table.
type rows interface {
	// next gives the next row, io.EOF after the last. A *Mistake is of one row, and
	// the next one may be right; any other error is the end.
	next() (row, error)
	// offset is how many bytes come before the next row.
	offset() int64
}

// errLong says that a row is longer than maxRow.
var errLong = errors.New("the row that begins here is longer than 1 MiB; is a quote not closed?")

// A rowLimit reads no more than a row may have.
type rowLimit struct {
	from io.Reader
	left int
}

func (l *rowLimit) begin() { l.left = maxRow }

func (l *rowLimit) Read(p []byte) (n int, err error) {
	if l.left == 0 {
		return 0, errLong
	}
	n, err = l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

const (
	notText = "not in UTF-8; save the table as UTF-8"
	noKey   = "the row has no key"
)

// rowKey gives the key that somebody wrote.
func rowKey(written string) string { return strings.TrimPrefix(written, "./") }

// wrongAttribute says why something cannot be the name of a custom attribute, or nothing.
func wrongAttribute(name string) string {
	switch {
	case name == "":
		return "an attribute, or a column, has no name"
	case !utf8.ValidString(name):
		return "the name is " + notText
	case name == Provenance:
		return fmt.Sprintf("the attribute %s is assetferry's own", name)
	}
	return ""
}
