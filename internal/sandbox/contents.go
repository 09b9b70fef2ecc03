package sandbox

import (
	"bytes"
	"io"
	"io/fs"
	"sync"
	"time"
)

// contents keep the bytes of assets under IDs of their own, never under names
// that users chose.
type contents interface {
	create(expected int64) (draft, error)
	open(id string) (content, error)
	remove(id string) error
}

// A content is open for reading, from any place.
type content interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// A draft is content on its way in. It can be read while it is one; keep makes
// it durable, and after keep nothing else may be called. Without keep, discard
// must be called.
type draft interface {
	io.Writer
	// reader gives access to what was written. Nothing may be written after it.
	reader() (io.ReaderAt, error)
	keep(id string) error
	discard()
}

// memoryContents keep bytes in memory.
type memoryContents struct {
	mu    sync.RWMutex
	bytes map[string][]byte
}

func newMemoryContents() *memoryContents { return &memoryContents{bytes: make(map[string][]byte)} }

func (m *memoryContents) create(expected int64) (draft, error) {
	d := &memoryDraft{to: m}
	if expected > 0 {
		d.Grow(int(min(expected, 1<<20))) // a promise is not worth more than that
	}
	return d, nil
}

func (m *memoryContents) open(id string) (content, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, ok := m.bytes[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return unclosed{bytes.NewReader(b)}, nil
}

func (m *memoryContents) remove(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bytes, id)
	return nil
}

type memoryDraft struct {
	bytes.Buffer
	to *memoryContents
}

func (d *memoryDraft) reader() (io.ReaderAt, error) { return bytes.NewReader(d.Bytes()), nil }
func (d *memoryDraft) discard()                     {}

func (d *memoryDraft) keep(id string) error {
	d.to.mu.Lock()
	defer d.to.mu.Unlock()
	d.to.bytes[id] = d.Bytes()
	return nil
}

// unclosed is a reader that needs no closing.
type unclosed struct{ *bytes.Reader }

func (unclosed) Close() error { return nil }

// A stored says what was stored, when and by whom: a revision of an asset.
type stored struct {
	revision string
	number   int // among the revisions of the asset
	content  string
	size     int64
	digest   string
	picture  picture
	made     time.Time
	by       string // empty: not known
}
