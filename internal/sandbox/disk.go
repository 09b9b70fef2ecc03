package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// MarkerFile is in every directory of a sandbox, so that nobody takes it for a
// part of a source: it holds an access key, and what was uploaded before.
const MarkerFile = ".assetferry-sandbox"

const markerText = "This directory belongs to a sandbox of assetferry. Migrations leave it out.\n"

// diskContents keep bytes in files: content/ab/abcdef..., and drafts in incoming.
type diskContents struct{ dir string }

func openDiskContents(dir string) (*diskContents, error) {
	if _, err := Secure(dir); err != nil {
		return nil, err
	}
	d := &diskContents{dir: dir}
	for _, sub := range []string{d.incoming(), filepath.Join(dir, "content")} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, MarkerFile), []byte(markerText), 0o600); err != nil {
		return nil, err
	}
	return d, syncDir(dir)
}

func (d *diskContents) incoming() string { return filepath.Join(d.dir, "incoming") }

func (d *diskContents) path(id string) string { return filepath.Join(d.dir, "content", id[:2], id) }

func (d *diskContents) create(int64) (draft, error) {
	f, err := os.CreateTemp(d.incoming(), "")
	if err != nil {
		return nil, err
	}
	return &diskDraft{Writer: bufio.NewWriterSize(f, 64<<10), to: d, file: f}, nil
}

func (d *diskContents) open(id string) (content, error) {
	f, err := os.Open(d.path(id))
	if err != nil {
		return nil, err // a nil *os.File would be a content that is not nil
	}
	return f, nil
}

func (d *diskContents) remove(id string) error { return os.Remove(d.path(id)) }

// clearDrafts removes what was being received when the last process ended.
func (d *diskContents) clearDrafts() error {
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

// sweep removes the files that no asset needs: a crash may come between storing
// bytes and committing their asset, or between deleting an asset and its bytes.
func (d *diskContents) sweep(needed func(id string) (bool, error)) error {
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

func (d *diskDraft) reader() (io.ReaderAt, error) { return d.file, d.Flush() }

// keep gets the bytes to the disk before their name, and the name before
// anything refers to it.
func (d *diskDraft) keep(id string) error {
	if err := errors.Join(d.Flush(), d.file.Sync(), d.file.Close()); err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	path := d.to.path(id)
	err := os.Rename(d.file.Name(), path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = syncDir(filepath.Dir(filepath.Dir(path)))
		}
		if err == nil {
			err = os.Rename(d.file.Name(), path)
		}
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	return nil
}

func (d *diskDraft) discard() {
	_ = d.file.Close()
	_ = os.Remove(d.file.Name()) // else at the next start
}

// syncDir makes the names in a directory durable. Windows cannot, and does so
// with the file.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
