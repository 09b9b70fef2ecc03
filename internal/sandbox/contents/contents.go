// Package contents keeps the bytes of assets, in memory or on disk.
package contents

import (
	"bytes"
	"io"
	"io/fs"
	"sync"
)

// Contents keep the bytes of assets under IDs of their own, never under names
// that users chose.
type Contents interface {
	Create(expected int64) (Draft, error)
	Open(id string) (content, error)
	Remove(id string) error
}

// A content is open for reading, from any place.
type content interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// A Draft is content on its way in. It can be read while it is one; keep makes
// it durable, and after keep nothing else may be called. Without keep, discard
// must be called.
type Draft interface {
	io.Writer
	// Reader gives access to what was written. Nothing may be written after it.
	Reader() (io.ReaderAt, error)
	Keep(id string) error
	Discard()
}

// memoryContents keep bytes in memory.
type memoryContents struct {
	mu    sync.RWMutex
	bytes map[string][]byte
}

func NewMemory() *memoryContents { return &memoryContents{bytes: make(map[string][]byte)} }

func (m *memoryContents) Create(expected int64) (Draft, error) {
	d := &memoryDraft{to: m}
	if expected > 0 {
		d.Grow(int(min(expected, 1<<20))) // a promise is not worth more than that
	}
	return d, nil
}

func (m *memoryContents) Open(id string) (content, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, ok := m.bytes[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return unclosed{bytes.NewReader(b)}, nil
}

func (m *memoryContents) Remove(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bytes, id)
	return nil
}

type memoryDraft struct {
	bytes.Buffer
	to *memoryContents
}

func (d *memoryDraft) Reader() (io.ReaderAt, error) { return bytes.NewReader(d.Bytes()), nil }
func (d *memoryDraft) Discard()                     {}

func (d *memoryDraft) Keep(id string) error {
	d.to.mu.Lock()
	defer d.to.mu.Unlock()
	d.to.bytes[id] = d.Bytes()
	return nil
}

// unclosed is a reader that needs no closing.
type unclosed struct{ *bytes.Reader }

func (unclosed) Close() error { return nil }
