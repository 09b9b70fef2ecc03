package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A mark is what the lock file of a journal says about it: which journal it is, how
// far it was written, when its owner last lived, and which file it was written into,
// so that a copy of all the files is not taken for them. It is one short line of
// fixed length, written at once, and not synced: after a power cut it may say less
// than the journal, never more.
type mark struct {
	f    *os.File
	born int64 // see birthOf

	mu  sync.Mutex
	now trace
}

// A trace is the content of a mark.
type trace struct {
	id   string
	seq  int64
	at   time.Time
	born int64 // of the file that it was written into; 0 if that is not known
}

const (
	markForm   = "assetferry journal %26s %019d %019d %019d\n" // id, seq, at in milliseconds, born
	markLength = len("assetferry journal ") + 26 + 3*(1+19) + 1
)

func newMark(f *os.File) *mark { return &mark{f: f, born: birthOf(f)} }

// read gives what the mark says; nothing if there is none, or none that makes
// sense.
func (m *mark) read() (t trace, err error) {
	line := make([]byte, markLength)
	if _, err := io.ReadFull(io.NewSectionReader(m.f, 0, int64(markLength)), line); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return t, nil
	} else if err != nil {
		return t, err
	}
	words := strings.Fields(string(line))
	if len(words) != 6 || line[markLength-1] != '\n' {
		return t, nil
	}
	seq, err1 := strconv.ParseInt(words[3], 10, 64)
	at, err2 := strconv.ParseInt(words[4], 10, 64)
	born, err3 := strconv.ParseInt(words[5], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return t, nil
	}
	return trace{words[2], seq, fromMillis(at), born}, nil
}

// written notes how far the journal was written.
func (m *mark) written(id string, seq int64, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = trace{id, seq, at, m.born}
	return m.write()
}

func (m *mark) alive(at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.at = at
	return m.write()
}

// changeSlack is how much later than its mark says a file may have been written.
const changeSlack = 10 * time.Second

// isCopied reports whether what a trace says was written into another file.
func (m *mark) isCopied(t trace) bool {
	return t.born != 0 && m.born != 0 && t.born != m.born
}

// isTouched reports whether somebody else changed the file since a trace was written
// into it: put a copy back in place, or gave it an owner, permissions, a second name.
// Nobody can tell which. Where it is not known when a file was made it may as well be
// another one.
func (m *mark) isTouched(t trace) bool {
	return t.id != "" && changedAt(m.f).After(t.at.Add(changeSlack))
}

func (m *mark) write() error {
	_, err := m.f.WriteAt(fmt.Appendf(nil, markForm, m.now.id, m.now.seq, m.now.at.UnixMilli(), m.now.born), 0)
	return err
}
