// Package sse reads streams of Server-Sent Events, as the WHATWG describes them in the
// section on interpreting an event stream of its HTML standard.
package sse

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// DefaultLimit is how many bytes an event may have where nobody says otherwise.
const DefaultLimit = 4 << 20

// An Event is what an event stream is made of. Bytes in it that are not UTF-8 are U+FFFD.
type Event struct {
	ID   string // the last that the stream named, in this event or before
	Name string // "message" if the stream names none
	Data string // without the line end of its last line
}

// A TooLargeError says that an event is larger than whoever reads it is ready to keep. The
// stream cannot be read on.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("an event of the stream is larger than %d bytes", e.Limit)
}

// A Reader reads the events of one stream. It hands an event out once the line that ends
// it has come, without waiting for any byte behind that.
type Reader struct {
	in    *bufio.Reader
	limit int

	begun bool // the first line has been read, and the byte order mark with it
	feed  bool // what comes next may be the second half of a CRLF
	line  []byte

	name string
	data []byte // each line of it with a line feed
	id   string
	open bool // there were fields since the last blank line
	err  error
}

// NewReader returns a reader of events of so many bytes at the most; 0 means
// [DefaultLimit]. The bytes of an event are those of its name, its data and the line that
// is being read.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{in: bufio.NewReader(r), limit: limit}
}

// Next returns the next event. The error is io.EOF at the end of the stream, a
// *[TooLargeError], or that of the reader below; it comes again on each further call.
func (r *Reader) Next() (Event, error) {
	for r.err == nil {
		if r.err = r.readLine(); r.err != nil {
			break
		}
		if len(r.line) > 0 {
			r.field()
			continue
		}
		if e, ok := r.dispatch(); ok {
			return e, nil
		}
	}
	return Event{}, r.err
}

// Cut reports whether the stream ended within an event, which was not handed out then: there
// were fields, or a part of a line, that no blank line ended. Comments do not count.
func (r *Reader) Cut() bool {
	return r.err != nil && (r.open || len(r.line) > 0 && r.line[0] != ':')
}

// readLine reads a line without its end, which is CR, LF or both. After CR it does not wait
// for what comes next.
func (r *Reader) readLine() error {
	r.line = r.line[:0]
	for {
		if _, err := r.in.Peek(1); err != nil {
			return err
		}
		chunk, _ := r.in.Peek(r.in.Buffered())
		if r.feed && chunk[0] == '\n' {
			r.feed = false
			_, _ = r.in.Discard(1)
			continue
		}
		n := bytes.IndexAny(chunk, "\r\n")
		ends := n >= 0
		if !ends {
			n = len(chunk)
		}
		if r.line = append(r.line, chunk[:n]...); len(r.line)+len(r.data)+len(r.name) > r.limit {
			return &TooLargeError{r.limit}
		}
		if r.feed = ends && chunk[n] == '\r'; ends {
			_, _ = r.in.Discard(n + 1)
			break
		}
		_, _ = r.in.Discard(n)
	}
	if !r.begun {
		r.begun, r.line = true, bytes.TrimPrefix(r.line, []byte("\uFEFF"))
	}
	return nil
}

// field takes a line in that is not blank.
func (r *Reader) field() {
	name, value, _ := bytes.Cut(r.line, []byte(":"))
	if len(name) == 0 {
		return // a comment
	}
	r.open = true
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.name = text(value)
	case "data":
		r.data = append(append(r.data, value...), '\n')
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = text(value)
		}
	}
}

// dispatch ends an event. One without data is none.
func (r *Reader) dispatch() (Event, bool) {
	e := Event{ID: r.id, Name: r.name, Data: text(bytes.TrimSuffix(r.data, []byte("\n")))}
	if e.Name == "" {
		e.Name = "message"
	}
	some := len(r.data) > 0
	r.name, r.data, r.open = "", r.data[:0], false
	return e, some
}

func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
