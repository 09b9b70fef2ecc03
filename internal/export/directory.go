package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"assetferry/internal/retry"
)

// A Directory is a store in the file system. The first write creates it. Nothing is written outside
// it, even if another process puts a link into it.
type Directory struct {
	name string

	mu   sync.Mutex
	root *os.Root // nil until it exists
}

// OpenDirectory returns the store of a directory.
func OpenDirectory(name string) *Directory { return &Directory{name: name} }

// Close closes the directory.
func (d *Directory) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}

// open returns the root. It creates the directory if mayMake is true.
func (d *Directory) open(mayMake bool) (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root != nil {
		return d.root, nil
	}
	if mayMake {
		if err := os.MkdirAll(d.name, 0o755); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(d.name)
	if err == nil {
		d.root = root
	}
	return root, err
}

// Read implements Store.
func (d *Directory) Read(ctx context.Context, name string) ([]byte, error) {
	size, err := d.Size(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case size > maxManifest:
		return nil, fmt.Errorf("%s has %d bytes, more than any metadata file of an export", name, size)
	}
	root, err := d.open(false)
	if err != nil {
		return nil, err
	}
	return root.ReadFile(filepath.FromSlash(name))
}

// Size implements Store.
func (d *Directory) Size(_ context.Context, name string) (int64, error) {
	root, err := d.open(false)
	if err != nil {
		return 0, err
	}
	info, err := root.Lstat(filepath.FromSlash(name))
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s already exists and is not a file", name)
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// IsEmpty implements Store. It ignores names that begin with a dot, which belong to the system.
func (d *Directory) IsEmpty(context.Context) (bool, error) {
	root, err := d.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") && e.Name() != "lost+found" }), err
}

// Folder implements Store. It removes drafts of a killed export.
func (d *Directory) Folder(_ context.Context, name string) error {
	root, err := d.open(true)
	if err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	return removeDrafts(root, name)
}

// Write implements Store. It writes a draft, makes it durable and renames it.
func (d *Directory) Write(ctx context.Context, name, _ string, size int64, content io.Reader) (err error) {
	root, err := d.open(true)
	if err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	draft := filepath.Join(filepath.Dir(name), newDraft())
	f, err := root.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return full(err)
	}
	defer func() {
		if rerr := root.Remove(draft); !errors.Is(rerr, fs.ErrNotExist) { // it was renamed
			err = errors.Join(err, rerr)
		}
	}()
	n, err := io.Copy(f, content)
	if err == nil && n != size {
		err = fmt.Errorf("received %d bytes instead of the listed %d", n, size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return full(err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := root.Rename(draft, name); err != nil {
		return err
	}
	return syncFolder(root, filepath.Dir(name))
}

// syncFolder makes renames in a folder durable, if the system supports it: a sidecar must not exist
// before its file.
func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// A fullError means that the disk is full.
type fullError struct{ error }

func (e fullError) Unwrap() error      { return e.error }
func (e fullError) Class() retry.Class { return retry.Fatal }

func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EDQUOT) {
		return fullError{err}
	}
	return err
}
