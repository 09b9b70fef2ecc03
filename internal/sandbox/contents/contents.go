// Package contents stores the bytes of assets in memory or on disk.
package contents

import (
	"bytes"
	"io"
	"io/fs"
	"sync"
)

// Contents store bytes under their own IDs, never under names chosen by users.
type Contents interface {
	Create(expected int64) (Draft, error)
	Open(id string) (content, error)
	Remove(id string) error
}

// A content is open for reading at any position.
type content interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// A Draft is content that is being received. It can be read. Keep makes it durable, and no
// method may be called after it. Without Keep, Discard must be called.
type Draft interface {
	io.Writer
	// Reader returns the written bytes. Nothing may be written after it.
	Reader() (io.ReaderAt, error)
	Keep(id string) error
	Discard()
}

// memoryContents stores bytes in memory.
type memoryContents struct {
	mu    sync.RWMutex
	bytes map[string][]byte
}

func NewMemory() *memoryContents { return &memoryContents{bytes: make(map[string][]byte)} }

func (m *memoryContents) Create(expected int64) (Draft, error) {
	d := &memoryDraft{to: m}
	if expected > 0 {
		d.Grow(int(min(expected, 1<<20))) // the promised length is not trusted beyond this
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

// unclosed is a reader that needs no Close.
type unclosed struct{ *bytes.Reader }

func (unclosed) Close() error { return nil }
