package contents

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assetferry/internal/sandbox/datadir"
)

// diskContents stores bytes in files: content/ab/abcdef..., and drafts in incoming.
type diskContents struct{ dir string }

func OpenDisk(dir string) (*diskContents, error) {
	if _, err := datadir.Secure(dir); err != nil {
		return nil, err
	}
	d := &diskContents{dir: dir}
	for _, sub := range []string{d.incoming(), filepath.Join(dir, "content")} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, err
		}
	}
	return d, datadir.Mark(dir)
}

func (d *diskContents) incoming() string { return filepath.Join(d.dir, "incoming") }

func (d *diskContents) path(id string) string { return filepath.Join(d.dir, "content", id[:2], id) }

func (d *diskContents) Create(int64) (Draft, error) {
	f, err := os.CreateTemp(d.incoming(), "")
	if err != nil {
		return nil, err
	}
	return &diskDraft{Writer: bufio.NewWriterSize(f, 64<<10), to: d, file: f}, nil
}

func (d *diskContents) Open(id string) (content, error) {
	f, err := os.Open(d.path(id))
	if err != nil {
		return nil, err // a nil *os.File would make a non-nil content
	}
	return f, nil
}

func (d *diskContents) Remove(id string) error { return os.Remove(d.path(id)) }

// ClearDrafts removes the drafts of an interrupted process.
func (d *diskContents) ClearDrafts() error {
	left, err := os.ReadDir(d.incoming())
	if err != nil {
		return err
	}
	for _, e := range left {
		if err := os.Remove(filepath.Join(d.incoming(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes files without an asset: a crash can happen between storing bytes and committing
// the asset, or between deleting an asset and its bytes.
func (d *diskContents) Sweep(needed func(id string) (bool, error)) error {
	return filepath.WalkDir(filepath.Join(d.dir, "content"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		keep, err := needed(e.Name())
		if err != nil || keep {
			return err
		}
		return os.Remove(path)
	})
}

type diskDraft struct {
	*bufio.Writer
	to   *diskContents
	file *os.File
}

func (d *diskDraft) Reader() (io.ReaderAt, error) { return d.file, d.Flush() }

// Keep writes the bytes to disk before their name, and the name before any reference to it.
func (d *diskDraft) Keep(id string) error {
	if err := errors.Join(d.Flush(), d.file.Sync(), d.file.Close()); err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	path := d.to.path(id)
	err := os.Rename(d.file.Name(), path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = datadir.SyncDir(filepath.Dir(filepath.Dir(path)))
		}
		if err == nil {
			err = os.Rename(d.file.Name(), path)
		}
	}
	if err == nil {
		err = datadir.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	return nil
}

func (d *diskDraft) Discard() {
	_ = d.file.Close()
	_ = os.Remove(d.file.Name()) // or at the next start
}
