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
// far it was written, and when its owner last lived. It is one short line of fixed
// length, written at once, and not synced: after a power cut it may say less than
// the journal, never more.
type mark struct {
	f *os.File

	mu  sync.Mutex
	now trace
}

// A trace is the content of a mark.
type trace struct {
	id  string
	seq int64
	at  time.Time
}

const (
	markForm   = "assetferry journal %26s %019d %019d\n" // id, seq, at in milliseconds
	markLength = len("assetferry journal ") + 26 + 1 + 19 + 1 + 19 + 1
)

func newMark(f *os.File) *mark { return &mark{f: f} }

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
	if len(words) != 5 || line[markLength-1] != '\n' {
		return t, nil
	}
	seq, err1 := strconv.ParseInt(words[3], 10, 64)
	at, err2 := strconv.ParseInt(words[4], 10, 64)
	if err1 != nil || err2 != nil {
		return t, nil
	}
	return trace{words[2], seq, fromMillis(at)}, nil
}

// written notes how far the journal was written.
func (m *mark) written(id string, seq int64, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = trace{id, seq, at}
	return m.write()
}

func (m *mark) alive(at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.at = at
	return m.write()
}

func (m *mark) write() error {
	_, err := m.f.WriteAt(fmt.Appendf(nil, markForm, m.now.id, m.now.seq, m.now.at.UnixMilli()), 0)
	return err
}
