package actionlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrChanged reports a log that was changed after it was written.
var ErrChanged = errors.New("the action log was changed")

// A Chain verifies entries in their order. The zero value begins with any entry, so that a part of
// a log can be verified.
type Chain struct {
	head    Head
	stateID string
}

// Add verifies that a line is the next entry, and returns it.
func (c *Chain) Add(line string) (e Entry, err error) {
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&e); err != nil || d.More() {
		return e, fmt.Errorf("%w: entry %d cannot be read", ErrChanged, c.head.Entries+1)
	}
	begins := c.head == Head{}
	switch {
	case e.Number < 1, begins && (e.Number == 1) != (e.Previous == First):
		return e, fmt.Errorf("%w: entry %d has a wrong number", ErrChanged, e.Number)
	case begins:
	case e.Number != c.head.Entries+1:
		return e, fmt.Errorf("%w: entry %d follows entry %d", ErrChanged, e.Number, c.head.Entries)
	case e.Previous != c.head.Checksum:
		return e, fmt.Errorf("%w: entry %d does not follow entry %d, or that entry was changed", ErrChanged, e.Number, c.head.Entries)
	case e.StateID != c.stateID:
		return e, fmt.Errorf("%w: entry %d belongs to another state database", ErrChanged, e.Number)
	}
	c.stateID, c.head = e.StateID, Head{e.Number, Checksum(line)}
	return e, nil
}

// Head returns the end of the entries so far.
func (c *Chain) Head() Head { return c.head }

// StateID returns the state database of the entries.
func (c *Chain) StateID() string { return c.stateID }

// A trailer is the last line of an export. Without it, a missing last entry could not be found.
type trailer struct {
	Head Head `json:"action_log_head"`
}

// WriteTrailer writes the last line of an export.
func WriteTrailer(w io.Writer, h Head) error {
	line, err := json.Marshal(trailer{h})
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// maxLine is the maximum length of a line, much more than any that is written.
const maxLine = 1 << 20

// Check verifies an export, and yields its entries with their checksums. It returns the first
// number and the end of the log.
func Check(r io.Reader, yield func(Entry, Head)) (first int64, head Head, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	s.Split(wholeLines)
	var c Chain
	for s.Scan() {
		line := s.Text()
		if strings.HasPrefix(line, `{"action_log_head":`) {
			return first, c.Head(), endOf(&c, line, s)
		}
		e, err := c.Add(line)
		if err != nil {
			return first, c.Head(), err
		}
		if first == 0 {
			first = e.Number
		}
		yield(e, c.Head())
	}
	if err := s.Err(); err != nil {
		return first, c.Head(), err
	}
	return first, c.Head(), fmt.Errorf("%w: it ends after entry %d, without its last line", ErrChanged, c.Head().Entries)
}

// endOf verifies the last line of an export.
func endOf(c *Chain, line string, s *bufio.Scanner) error {
	var want strings.Builder
	if err := WriteTrailer(&want, c.Head()); err != nil {
		return err
	}
	if line+"\n" != want.String() {
		return fmt.Errorf("%w: its last line does not match entry %d", ErrChanged, c.Head().Entries)
	}
	if s.Scan() || s.Err() != nil {
		return fmt.Errorf("%w: it continues after its last line", ErrChanged)
	}
	return nil
}

// wholeLines is bufio.ScanLines for lines that end with a line feed only.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for n, b := range data {
		if b == '\n' {
			return n + 1, data[:n], nil
		}
	}
	if atEOF && len(data) > 0 {
		return 0, nil, fmt.Errorf("%w: its last line is not complete", ErrChanged)
	}
	return 0, nil, nil
}
