// Package sse reads streams of Server-Sent Events, as defined in the HTML standard of the WHATWG,
// section "Interpreting an event stream".
package sse

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// DefaultLimit is the default maximum size of an event in bytes.
const DefaultLimit = 4 << 20

// An Event is an event of a stream. Invalid UTF-8 in it is replaced by U+FFFD.
type Event struct {
	ID   string // the last ID in the stream, of this event or an earlier one
	Name string // "message" if the stream names none
	Data string // without the line end of its last line
}

// A TooLargeError reports an event that exceeds the limit of the reader. The stream cannot be
// continued.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("an event of the stream is larger than %d bytes", e.Limit)
}

// A Reader reads the events of one stream. It returns an event once its last line has arrived,
// without waiting for further bytes.
type Reader struct {
	in    *bufio.Reader
	limit int

	begun bool // the first line, with the byte order mark, has been read
	feed  bool // the next byte may be the second half of a CRLF
	line  []byte

	name string
	data []byte // lines, each with a line feed
	id   string
	open bool // there were fields since the last blank line
	err  error
}

// NewReader returns a reader of events with at most limit bytes; 0 means [DefaultLimit]. The size
// of an event includes its name, its data and the current line.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{in: bufio.NewReader(r), limit: limit}
}

// Next returns the next event. The error is io.EOF at the end of the stream, a *[TooLargeError], or
// that of the underlying reader. Further calls return the same error.
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

// Cut reports whether the stream ended within an event, which was not returned: it had fields, or a
// part of a line, without a final blank line. Comments do not count.
func (r *Reader) Cut() bool {
	return r.err != nil && (r.open || len(r.line) > 0 && r.line[0] != ':')
}

// readLine reads a line without its end, which is CR, LF or both. After CR it does not wait for
// another byte.
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

// field parses a line that is not blank.
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

// dispatch ends an event. Without data there is no event.
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
