// Package scan asks a virus scanner, or any other program, whether an object may be uploaded. An
// object that the scanner does not accept is not uploaded: an error, a timeout and an unknown answer
// count as no.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"assetferry/internal/retry"
)

// DefaultTimeout is how long a scanner may neither read nor answer.
const DefaultTimeout = 2 * time.Minute

// An Object describes the content to a scanner.
type Object struct {
	Key  string
	Size int64
}

// A Scanner scans contents. It is safe for concurrent use.
type Scanner struct {
	name    string // for messages, without arguments, which may be secret
	timeout time.Duration
	method  method
}

// A method gives content to a scanner and returns nil if that accepts it, a *RefusedError if it does
// not, and any other error if there is no answer. It need not read all of the content.
type method interface {
	scan(ctx context.Context, o Object, content *meter) error
}

// New returns the scanner of a setting: "clamd:" and a socket or HOST:PORT, or a command line.
// It starts nothing; the error says that there is no such program. A timeout of 0 is
// DefaultTimeout.
func New(setting string, timeout time.Duration) (*Scanner, error) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if at, isClamd := strings.CutPrefix(setting, clamdPrefix); isClamd {
		c, err := newClamd(at)
		return &Scanner{"clamd at " + at, timeout, c}, err
	}
	c, err := newCommand(setting)
	if err != nil {
		return nil, err
	}
	return &Scanner{c.argv[0], timeout, c}, nil
}

// String returns the name of the scanner, without its arguments.
func (s *Scanner) String() string { return s.name }

// Scan returns nil if the scanner accepts the content, and a *RefusedError if it refuses it. An
// error of the content is returned as it is. All others are of type *Error. The content is read to
// its end only if it is accepted.
func (s *Scanner) Scan(ctx context.Context, o Object, content io.Reader) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := &meter{content: content, limit: s.timeout}
	m.timer = time.AfterFunc(s.timeout, func() { cancel(errTimeout) })
	defer m.timer.Stop()
	err := s.method.scan(within, o, m)
	m.timer.Stop()
	switch {
	case m.failed != nil:
		return m.failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case within.Err() != nil:
		return s.failed(fmt.Errorf("no progress in %v", s.timeout))
	case err == nil:
		_, err = io.Copy(io.Discard, content)
		return err
	}
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return err
	}
	return s.failed(err)
}

var errTimeout = errors.New("timeout")

// sample is a text that no scanner should refuse.
const sample = "This text checks whether the scan works.\n"

// Check scans a short text. A *RefusedError means that the scanner works.
func (s *Scanner) Check(ctx context.Context) error {
	return s.Scan(ctx, Object{"scan-check.txt", int64(len(sample))}, strings.NewReader(sample))
}

func (s *Scanner) failed(err error) error {
	_, permanent := errors.AsType[*sizeError](err)
	return &Error{s.name, err, permanent}
}

// A RefusedError means that the scanner does not accept an object.
type RefusedError struct {
	Verdict string // what the scanner says, on one line
}

// RefusedText begins the error of a refused object.
const RefusedText = "refused by the scan"

func (e *RefusedError) Error() string { return RefusedText + ": " + e.Verdict }

// Class returns permanent: the answer is the same until the content or the scanner changes.
func (e *RefusedError) Class() retry.Class { return retry.Permanent }

// An Error means that there is no answer about an object.
type Error struct {
	Scanner   string
	Err       error
	permanent bool
}

func (e *Error) Error() string { return "scan: " + e.Scanner + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Class returns transient unless the scanner cannot scan the object at all.
func (e *Error) Class() retry.Class {
	if e.permanent {
		return retry.Permanent
	}
	return retry.Transient
}

// Hint returns the next step for the user.
func (e *Error) Hint() string {
	return "check the scanner, then run the same command again:\n  assetferry doctor"
}

// A meter is the content on its way to the scanner. Its time limit does not count while the source
// is read.
type meter struct {
	content io.Reader
	limit   time.Duration
	timer   *time.Timer
	failed  error // of the content
	ended   bool  // all of it was read
}

// Read reads from the source.
func (m *meter) Read(p []byte) (int, error) {
	m.timer.Stop()
	n, err := m.content.Read(p)
	m.timer.Reset(m.limit)
	switch {
	case err == io.EOF:
		m.ended = true
	case err != nil:
		m.failed = err
	}
	return n, err
}

// WriteTo keeps io.Copy from the shortcuts of other readers, which would hide the progress.
func (m *meter) WriteTo(w io.Writer) (written int64, err error) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := m.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return written, err
			}
			written += int64(n)
		}
		if err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
	}
}

const maxVerdict = 200 // characters

// oneLine returns the first line of an output with text in it, without characters that could affect
// a terminal; "" if there is none.
func oneLine(output []byte) string {
	for line := range strings.Lines(strings.ToValidUTF8(string(output), "?")) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				return ' '
			}
			return r
		}, line))
		if utf8.RuneCountInString(line) > maxVerdict {
			line = string([]rune(line)[:maxVerdict]) + "…"
		}
		if line != "" {
			return line
		}
	}
	return ""
}
